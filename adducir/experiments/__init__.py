"""Measures, significance, comparisons, tables, and the experiment file that makes them."""
