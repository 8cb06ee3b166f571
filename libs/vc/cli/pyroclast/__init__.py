"""`pyroclast`: the embedded stack, the demo, sets of services, and what they share."""
