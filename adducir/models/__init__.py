"""Pretrained transformers: loading, devices, batches, training with resumption, model cards."""
