"""A read-only HTTP API over the facts on the bus, and one plain page.

It keeps a view of jobs, PodGroups, pods, queues and nodes, and the scheduler's recent sessions with
their reasons. It changes no object. `vcctl` reaches it through the API server's service proxy.
"""
