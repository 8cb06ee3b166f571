"""The embedded cluster's rules, one table per concern, and its life on a virtual loop."""
