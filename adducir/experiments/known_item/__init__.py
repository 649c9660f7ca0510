"""Studies that rank one truth: from one file to trained encoders, ranks and tested tables."""
