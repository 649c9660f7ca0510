"""Measures: from a run and judgements to a value for each topic."""
