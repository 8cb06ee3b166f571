"""Pod groups for pods that nobody made one for.

Plain pods, and pods of ReplicaSets, StatefulSets, DaemonSets and batch Jobs, that name our scheduler
get a pod group, one per controller, and an annotation that says which. Only the leader writes.
"""
