"""Texts generated from passages: their data and evaluation.

"Hindsight: Posterior-guided Training of Retrievers for Improved Open-ended Generation" (Paranjape
et al., ICLR 2022).
"""
