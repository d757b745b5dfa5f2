"""Tuning: hypotheses about an engine's options become rounds of experiments; a search finds options."""
