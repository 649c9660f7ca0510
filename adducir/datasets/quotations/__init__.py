"""Quotation windows from books and criticism, as RELiC has them (Thai et al., ACL 2022).

The sentences of novels are sought in works of criticism; what is found becomes a masked span whose
context is the critic's own text. RELiC's official files are read and written here as well.
"""
