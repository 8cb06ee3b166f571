"""The watcher: the one service that lists and watches the API server.

It publishes every object as a fact on the bus, and all other services read `cluster.*`. The API
server therefore serves one list and one watch per kind, however many services and replicas there
are. The watcher also publishes its progress (`cluster.progress`), so that no service decides on a
partial or stale view.
"""
