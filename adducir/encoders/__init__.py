"""Dual encoders and late interaction (ColBERT): encoding and training."""
