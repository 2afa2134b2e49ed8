"""The interactive report: what it says, and how it behaves in a browser."""
