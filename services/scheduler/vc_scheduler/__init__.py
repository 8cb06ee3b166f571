"""The scheduler: which pod group is let in, which pods go to which node, and why the others wait.

It keeps the cluster as columns made of facts, decides in sessions that are pure functions of a
snapshot, and is the only one that binds. A gang is bound whole or not at all.
"""
