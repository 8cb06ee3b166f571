"""`vcctl job`: run, list, view, explain, suspend, resume and delete jobs."""
