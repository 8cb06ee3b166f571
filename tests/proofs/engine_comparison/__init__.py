"""Two engines decide the same on random clusters: an old checkout against a new one."""
