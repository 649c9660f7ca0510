"""Rerankers: one file per model, each opening with its theory and paper."""
