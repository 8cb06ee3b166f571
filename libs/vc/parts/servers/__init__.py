"""The servers that can be started: one module each, with their settings and the reasons."""
