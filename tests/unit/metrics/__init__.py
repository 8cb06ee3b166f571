"""Exported metrics, and that their documentation is true."""
