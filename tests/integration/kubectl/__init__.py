"""Real kubectl and a real client library, on the embedded cluster and on a real API server."""
