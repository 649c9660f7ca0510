"""Grounded generation: contexts with a target text and the passages that it draws on."""
