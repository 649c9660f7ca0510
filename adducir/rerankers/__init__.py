"""Rerankers: one file a model, each opening with its theory and paper."""
