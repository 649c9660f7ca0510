"""Many small collections, each ranked in full for its own queries, in memory.

A candidate set is a collection of its own: its document frequencies and its mean length come from
its candidates alone. A book's passages of n sentences (RELiC), all example units (EGRET) and the
fifty paragraphs of a question (HotpotQA) are such sets. No files are built.
"""
