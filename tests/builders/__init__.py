"""What tests of several packages, and benches, make their worlds of."""
