"""Generators: models that write a target text from an input and a passage."""
