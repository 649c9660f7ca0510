"""Sets of passages that together answer a question (Mou et al., EACL 2021)."""
