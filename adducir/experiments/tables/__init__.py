"""The result table, and how it is printed."""
