"""Tree: fitted trees and paths of them as plain data, and what can be read from them.

``Tree`` and ``Path`` predict, are saved as JSON and know how they came about; ``View``
describes a tree for everyone who shows it. Nothing here needs a compiler or a solver,
and cuts are taken apart in this room alone.
"""
