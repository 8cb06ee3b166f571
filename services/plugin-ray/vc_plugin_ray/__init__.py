"""The ray plugin: a head and workers that join it.

Answers with the commands that start ray, and makes one Service for the head. Names of pods come from
svc.
"""
