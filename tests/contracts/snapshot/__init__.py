"""What every snapshot cache promises: written once, run on the in-memory twin and on real Redis."""
