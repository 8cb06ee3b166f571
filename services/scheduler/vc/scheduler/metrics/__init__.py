"""Metrics of sessions, binds, queues and jobs, with Volcano's names where it has them."""
