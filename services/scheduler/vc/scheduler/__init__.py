"""The scheduler: enqueues pod groups, binds pods to nodes, and explains why other jobs wait.

It builds the cluster cache from facts and decides in sessions, which are pure functions of a
snapshot. It is the only service that binds pods. A gang is bound as a whole or not at all.
"""
