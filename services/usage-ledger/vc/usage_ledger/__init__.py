"""Usage: resources held by queue, namespace, job and hour, computed from pods.

The usage-ledger observes every pod, publishes rows of usage on the topic `usage.ledger`, and stores
closed hours in ConfigMaps of its own namespace. Only the leader writes.
"""
