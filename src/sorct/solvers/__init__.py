"""Solvers, one algorithm per file: frozen options with ``solve``."""
