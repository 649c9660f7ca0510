"""Adducir: information-retrieval experiments on evidence, from a corpus to a tested table."""

__version__ = "0.1.0"
