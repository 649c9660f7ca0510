"""Rerankers: one file per model, which opens with its theory and paper."""
