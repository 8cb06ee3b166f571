"""The adapter to the Kubernetes API, piece by piece; the whole of it is in tests/contracts/cluster."""
