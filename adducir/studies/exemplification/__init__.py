"""Examples in context, ROUGE-L, agreement of raters: EGRET (Wang et al., NAACL 2022)."""
