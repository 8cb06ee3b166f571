"""Applies effects and interprets the API server's responses for the next attempts."""
