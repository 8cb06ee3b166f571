"""reclaim: jobs of queues below their deserved share have pods of queues above theirs evicted."""
