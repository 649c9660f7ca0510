"""Literary evidence retrieval, after RELiC: which passage of a book a critic quotes."""
