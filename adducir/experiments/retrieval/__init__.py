"""Retrieval: topics with judgements; systems answer by runs, which measures score."""
