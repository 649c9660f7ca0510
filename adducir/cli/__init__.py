"""The command line: one file per command, and the only package that prints."""
