"""The ssh plugin: pods of a job log in to one another without a password.

It creates one Secret with a key pair per job, once, and answers with its mount. It is the only
service that may access Secrets, and no key is ever in a log, a message or a trace.
"""
