"""Downloads or builds the real servers into the cache, keyed by version."""
