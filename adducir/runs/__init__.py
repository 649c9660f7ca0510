"""TREC runs: read, write, order, fuse and check."""
