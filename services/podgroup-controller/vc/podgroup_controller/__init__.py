"""PodGroups for pods that have none.

Plain pods, and pods of ReplicaSets, StatefulSets, DaemonSets and batch jobs,
that name our scheduler get a PodGroup, one per controller, and an annotation
with its name. Only the leader writes.
"""
