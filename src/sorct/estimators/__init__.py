"""Estimators: the front door, from a user's table to a tree.

They check what they are given, turn the table into a problem (``fitting.py``), have it
searched, and bring the solution back to names and units. The compiler is loaded after
the checks.
"""
