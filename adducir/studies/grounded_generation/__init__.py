"""Grounded generation, after Hindsight: texts that are generated from retrieved passages."""
