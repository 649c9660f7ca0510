"""Studies of evidence sets: from one file to trained models, chosen sets and a tested table."""
