"""Paired tests, corrections, equivalence, effect sizes; comparisons of systems."""
