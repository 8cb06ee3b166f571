"""Reservations: jobs are bound on their nominated nodes, or a job of higher priority takes over."""
