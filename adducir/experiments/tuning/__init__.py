"""Tuning by cross-validated grid search: only figures of held-out topics are reported."""
