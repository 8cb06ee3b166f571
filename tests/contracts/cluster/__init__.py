"""What every `vc.cluster.Cluster` does, written once and run on each backend.

A backend is one entry of `BACKENDS` in conftest.py: how to open it, and what it can do beside the
interface. Tests that need more than an API server (its controllers, a compaction at will) ask the
backend and are skipped, with a sentence, where it cannot.
"""
