"""Simulated nodes and the life cycle of pods on them."""
