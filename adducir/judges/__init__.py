"""Judgements by a model, and what people's judgements of a random sample make of them."""
