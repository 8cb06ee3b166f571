"""Spans: identities, telling once, and what leaves the process."""
