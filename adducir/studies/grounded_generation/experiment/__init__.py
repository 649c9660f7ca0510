"""The task ``grounded-generation``: texts generated from retrieved passages."""
