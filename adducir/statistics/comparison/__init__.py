"""Comparing systems: which tests are made, how they are corrected, what was found."""
