"""Data: from a user's table to arrays in [0, 1], and back to names and units.

A ``Variable`` learns from a column, encodes it, and makes the ``Term`` that it
contributes to a cut; a ``Target`` turns y into codes; ``TableEncoder`` joins the
variables of a table. Which kinds of variables there are is known in this room alone.
Nothing here needs a compiler.
"""
