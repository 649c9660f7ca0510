"""Complementary evidence (Mou et al., 2020): sets of passages that answer a question together.

Three things make a set good: each passage is relevant, the passages differ (diversity), and their
sum points where the question does (compactness). Scores, losses and the search for the best set
are pure functions of tensors, whatever model makes those:

- (Q, K) for K passages of each of Q questions, padded, with a mask that is True at passages;
- (Q, K, d) for the passages' vectors, each conditioned on the question;
- (Q, d) for the questions' vectors.
"""
