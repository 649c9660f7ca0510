"""Exemplification retrieval, after EGRET: which example fits a masked context."""
