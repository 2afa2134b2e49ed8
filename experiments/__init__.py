"""The paper's tables and figures; imports ``sorct``, never imported by it."""
