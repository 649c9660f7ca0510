"""Complementary evidence: which small set of passages answers a question together."""
