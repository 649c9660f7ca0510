"""Hindsight: a retriever and a generator, trained with a guide that has seen the target.

The retriever P(z|x) reads the input x, the guide Q(z|x,y) input and target, the generator P(y|x,z)
writes the target y from the input and a passage z. The evidence lower bound trains all three; the
marginalised loss of RAG (Lewis et al., NeurIPS 2020) is the baseline.
"""
