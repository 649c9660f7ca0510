"""Masked spans: the data that exemplification and literary evidence retrieval have in common.

A passage (an exemplifying unit, a quotation) is taken out of its text; what stands left and right
of the gap is the query, the passage is the one true answer among many candidates.
"""
