"""Recipes, fingerprints, products and locks: what a study is made of.

Nothing here knows of retrieval.
"""
