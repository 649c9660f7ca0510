"""Recipes, fingerprints, products, locks and plans: what a study is made of.

Nothing here knows of retrieval.
"""
