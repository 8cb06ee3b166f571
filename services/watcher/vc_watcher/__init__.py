"""The one reader of the API server: turns lists and watches into facts on the bus.

Everybody else lives from `cluster.*`; only the watcher costs the API server a list and a watch per
kind, however many services and replicas there are. It also says how far it has come
(`cluster.progress`), so that nobody decides on a partial or stale view.
"""
