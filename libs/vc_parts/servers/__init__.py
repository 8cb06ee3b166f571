"""The servers that can be started: each module is one, and holds its settings with their reasons."""
