"""Show: everything people see of a tree or a path.

Text, explanations, plots, the report and exports read the view of a ``Tree`` and
nothing else; they never touch a problem, a solver or an estimator's inside.
"""
