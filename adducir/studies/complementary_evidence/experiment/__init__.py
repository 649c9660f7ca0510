"""Studies of evidence sets: from one file to trained models, selected sets and a tested table."""
