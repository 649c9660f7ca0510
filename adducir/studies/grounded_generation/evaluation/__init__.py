"""Measures of generated texts: against answers, against passages, KILT's and MS MARCO's."""
