"""Cross-validated grid search, which reports only figures of held-out topics."""
