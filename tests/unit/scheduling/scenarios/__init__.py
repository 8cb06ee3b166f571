"""Scenarios as tables: a cluster literal, and which jobs then run, are evicted and wait."""
