"""Every service in its own process, on real servers."""
