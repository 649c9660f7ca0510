"""Passages that critics quote: data, retrieval, ranks, human choices.

"RELiC: Retrieving Evidence for Literary Claims" (Thai et al., ACL 2022).
"""
