"""Job plugins: arguments in Go's flag syntax, the built-in plugins, and which others they force."""
