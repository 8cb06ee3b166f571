"""Leader election through a Lease, and the handover to a new leader."""
