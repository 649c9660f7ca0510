"""Examples in context, ROUGE-L, inter-annotator agreement: EGRET (Wang et al., NAACL 2022)."""
