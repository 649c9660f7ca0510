"""DeepCT: targets, model, training, and term weights as text."""
