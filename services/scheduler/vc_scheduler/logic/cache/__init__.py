"""The cluster as the scheduler remembers it between sessions, one concern a module."""
