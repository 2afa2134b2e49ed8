"""Problem: what is minimised, as arrays and compiled functions.

A ``Problem`` is samples, a datafit, a penalty, a constraint, a depth and a steepness.
From here on there are no names and no units, only float64 in [0, 1].
"""
