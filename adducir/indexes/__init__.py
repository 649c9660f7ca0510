"""Lucene, memory and dense indexes: build, search and expand queries."""
