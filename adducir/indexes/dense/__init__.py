"""Dense indexes: vectors in FAISS, their docnos, and the documents' texts."""
