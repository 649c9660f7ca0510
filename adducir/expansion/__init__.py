"""Corpora expanded with generated queries, filtered by a reranker."""
