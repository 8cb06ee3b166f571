"""Queues: their states, their counters, and the two that must always be there.

Keeps `root` and `default`, gives every queue its parent, opens and closes queues on command (with
everything below them), and writes counters of pod groups when they change. Only the leader writes.
"""
