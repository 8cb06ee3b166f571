"""The scenarios that matter, as tables: a cluster literal, and who then runs, leaves and waits."""
