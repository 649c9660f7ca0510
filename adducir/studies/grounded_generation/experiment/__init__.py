"""The task ``grounded-generation``: texts that are written from retrieved passages."""
