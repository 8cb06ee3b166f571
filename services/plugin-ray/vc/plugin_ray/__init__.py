"""The ray plugin: a head, and workers that join it.

It answers with the commands that start ray, and creates one Service for the
head. Names of pods come from svc.
"""
