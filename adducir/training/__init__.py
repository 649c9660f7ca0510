"""Training: the interface of trainable models, and their common trainer."""
