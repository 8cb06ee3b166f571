"""The pytorch plugin: torch.distributed knows its master, its size and its ranks.

It answers with variables and a port for the pods of a job, and optionally with an init container
that waits for the master. It writes nothing to the cluster. The host names are those of svc.
"""
