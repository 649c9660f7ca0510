"""Generating texts from passages: Hindsight (Paranjape et al., ICLR 2022)."""
