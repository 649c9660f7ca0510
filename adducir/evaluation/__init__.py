"""Measures: from a run and judgements to a value per topic."""
