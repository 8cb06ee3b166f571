"""The env plugin: every pod knows its index and how many siblings it has.

Answers with four variables for every container and init container of every task. It writes nothing
to the cluster.
"""
