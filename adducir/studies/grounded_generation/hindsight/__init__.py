"""Hindsight: a retriever and a generator trained with a guide that sees the target."""
