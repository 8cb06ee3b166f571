"""Placement of gangs on nodes, simulated removal of pods, future idle resources and shortages."""
