"""Sets of passages that together answer a question.

"Complementary Evidence Identification in Open-Domain Question Answering" (Mou et al., EACL 2021).
"""
