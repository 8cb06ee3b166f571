"""The Kubernetes verbs over the store, with admission of writes."""
