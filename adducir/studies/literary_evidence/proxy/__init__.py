"""The proxy task: people, or a model, choose the gold item among a few candidates."""
