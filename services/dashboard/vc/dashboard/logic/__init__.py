"""Answers as pure functions of a `ClusterIndex`. No I/O, no clock."""
