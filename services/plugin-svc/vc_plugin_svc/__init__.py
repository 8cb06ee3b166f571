"""The svc plugin: the pods of a job find one another.

Makes a headless Service, a ConfigMap with host lists and a NetworkPolicy for the job, and answers
with host names, variables and a mount for its pods. What it made goes when the job is over.
"""
