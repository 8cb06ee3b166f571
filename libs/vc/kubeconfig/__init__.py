"""Kubeconfig files: the one reader, the credentials of a user, and the one writer.

vcctl starts in a fraction of a second, so nothing here imports kubernetes-asyncio, and PyYAML is
imported by the first file that is read.
"""
