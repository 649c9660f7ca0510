"""Pretrained transformers: sources, loading, devices, precision, batches."""
