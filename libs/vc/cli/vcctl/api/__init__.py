"""Access to the API server and the dashboard: kubeconfig, credentials, requests."""
