"""Tests, one file per module; ``reference.py`` is their slow truth."""
