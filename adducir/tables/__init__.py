"""The result table and its output formats."""
