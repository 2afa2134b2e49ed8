"""Search: training is not convex, so good trees have to be looked for.

Starts, moves from one tree to others near it, chains of moves that run until they
agree, and the sweep over a grid of penalties. Descents are left to ``solvers``.
"""
