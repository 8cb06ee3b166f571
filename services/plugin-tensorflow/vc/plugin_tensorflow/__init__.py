"""The tensorflow plugin: every pod knows the cluster and its own position in it.

It answers with `TF_CONFIG` for all tasks. It writes nothing to the cluster: svc provides the names.
"""
