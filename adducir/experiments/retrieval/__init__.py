"""Retrieval: topics with judgements, answered by systems' runs, which measures score."""
