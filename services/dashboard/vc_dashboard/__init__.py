"""A read-only HTTP API over what the bus says, and one plain page.

It keeps a view of jobs, pod groups, pods, queues and nodes, and the scheduler's recent sessions with
their reasons. It writes nothing anywhere. `vcctl` reaches it through the API server's service proxy.
"""
