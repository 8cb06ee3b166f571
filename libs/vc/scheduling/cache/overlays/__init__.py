"""Decisions that no fact shows yet, kept over the cache until the facts do."""
