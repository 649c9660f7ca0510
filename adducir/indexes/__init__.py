"""Indexes of three engines, Lucene, memory and dense: build, search and expand queries."""
