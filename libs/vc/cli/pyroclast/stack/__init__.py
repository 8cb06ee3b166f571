"""`pyroclast stack`: each service in its own process, on real Kafka and Redis."""
