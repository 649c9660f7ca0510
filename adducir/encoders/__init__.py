"""Dual encoders: towers, training, encoding, ranking; the score of late interaction (MaxSim)."""
