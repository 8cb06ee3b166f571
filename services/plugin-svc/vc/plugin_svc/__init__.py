"""The svc plugin: the pods of a job find one another.

It creates a headless Service, a ConfigMap with host lists and a NetworkPolicy for
the job, and answers with host names, variables and a mount for its pods. The objects
are deleted when the job is over.
"""
