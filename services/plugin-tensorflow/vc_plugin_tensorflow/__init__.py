"""The tensorflow plugin: every pod knows the cluster and its own place in it.

Answers with `TF_CONFIG` for all tasks. It writes nothing to the cluster: svc gives the names.
"""
