"""Hindsight: a retriever and a generator, trained with a guide that has seen the target."""
