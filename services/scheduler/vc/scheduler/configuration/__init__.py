"""The scheduler configuration: file or ConfigMap, checks, and third-party actions and plugins."""
