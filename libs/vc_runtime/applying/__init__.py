"""Applying effects: what the API server's answers mean for the next attempts."""
