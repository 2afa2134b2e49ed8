"""Solvers: from one start to one stationary tree.

``descent.py`` is the compiled loop; ``spectral.py`` and ``quasi_newton.py`` are its two
kinds of steps; ``augmented_lagrangian.py`` repeats it until floors are met.
"""
