"""Patches and server-side apply: JSON, merge and strategic merge patch, managed fields."""
