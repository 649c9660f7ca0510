"""Builders of the studies' data: masked spans, quotations, evidence sets, grounded contexts."""
