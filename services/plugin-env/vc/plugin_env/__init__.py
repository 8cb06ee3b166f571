"""The env plugin: every pod knows its index and the size of its task.

It answers with four variables for every container and init container of every task. It
writes nothing to the cluster.
"""
