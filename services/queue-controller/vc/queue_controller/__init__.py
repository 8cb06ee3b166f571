"""Queues: their states, their counters, and the two queues that always exist.

The queue-controller keeps `root` and `default`, sets the parent of every queue, opens and closes
queues by Command (with everything below them), and writes counters of PodGroups when they
change. Only the leader writes.
"""
