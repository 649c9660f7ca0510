"""Recipes, fingerprints, artifacts and locks: what a study is made of.

Nothing here knows of retrieval.
"""
