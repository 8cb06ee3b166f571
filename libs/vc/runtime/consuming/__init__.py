"""Consumes topics: sources, views, progress, dead letters, checkpoints of a view."""
