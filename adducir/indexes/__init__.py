"""Lucene indexes: build, search and expand queries."""
