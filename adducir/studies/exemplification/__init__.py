"""Examples in context: their data, ROUGE-L, agreement of raters.

"Modeling Exemplification in Long-form Question Answering via Retrieval" (Wang et al., NAACL 2022).
"""
