"""The version, where every package can read it without the public API above all of them."""

__version__ = "0.1.0"
