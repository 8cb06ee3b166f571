"""Answers as pure functions of a `Picture` of the cluster. No I/O, no clock."""
