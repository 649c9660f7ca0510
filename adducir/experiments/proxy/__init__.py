"""The proxy task: people, or a model, choose the truth among a few candidates."""
