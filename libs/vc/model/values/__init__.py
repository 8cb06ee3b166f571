"""Scalar values in manifests: quantities, times, ages, and bounded parsers for them."""
