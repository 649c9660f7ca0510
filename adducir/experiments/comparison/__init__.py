"""Comparing systems: which tests are made, what is corrected together, what was found."""
