"""Reservations: node capacity kept for a job that will be bound there (Volcano: Pipelined).

`state` has the reservations of one session and their invariants. `nominated_nodes` places a job on
the nodes of its nomination. `future_idle` reserves what terminating pods will free. `redeem` binds
nominated jobs or keeps their reservations, and `takeover` gives reservations to jobs of higher
priority. The nomination itself is a value of `model/nominations.py`, because the cluster cache keeps
it between sessions.
"""
