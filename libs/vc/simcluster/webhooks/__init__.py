"""Admission webhooks: selection, calls and evaluation of responses."""
