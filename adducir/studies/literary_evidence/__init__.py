"""Passages that critics quote, and human choices among them: RELiC (Thai et al., ACL 2022)."""
