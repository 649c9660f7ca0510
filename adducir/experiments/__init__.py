"""Experiment files, from data to tested tables."""
