"""Gets and starts the real servers (Kafka, Redis, kube-apiserver, etcd, Jaeger) for tests and `make stack`."""
