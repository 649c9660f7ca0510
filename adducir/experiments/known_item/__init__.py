"""Known-item studies: from one file to trained encoders, ranks and tested tables."""
