"""Kubernetes and Volcano objects as msgspec structs, with their keys and kinds."""
