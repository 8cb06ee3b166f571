"""The Kubernetes API over HTTP: routes, bodies, watches, discovery, OpenAPI."""
