"""Proofs: what is too long for every run of the tests; a sample of each runs with them."""
