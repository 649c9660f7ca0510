"""Paired tests, corrections, equivalence, effect sizes: from arrays to p-values."""
