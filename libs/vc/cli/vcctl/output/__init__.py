"""Output of vcctl: tables, lists, JSON, YAML and reasons."""
