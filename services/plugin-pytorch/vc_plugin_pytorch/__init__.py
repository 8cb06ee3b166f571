"""The pytorch plugin: torch.distributed knows its master, its size and its ranks.

Answers with variables and a port for the pods of a job, and if wanted with an init container that
waits for the master. It writes nothing to the cluster; the names it gives out are svc's.
"""
