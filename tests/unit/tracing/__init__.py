"""Spans: identities, sending each once, and what leaves the process."""
