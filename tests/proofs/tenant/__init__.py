"""Whatever a tenant writes, the jobs of others start, and nothing of theirs is evicted."""
