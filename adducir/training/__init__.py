"""Training: what a kind of model brings, and the one place where it is trained."""
