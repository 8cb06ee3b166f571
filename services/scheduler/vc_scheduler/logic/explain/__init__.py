"""Explanations: what would start a waiting job, checked by simulation, and what can never start.

The session itself proposes what would take its refusal away (`reasons.py`, `misfits.py`). That is cheap
and looks at one refusal only. `remedy_search` runs off the hot path, for one job at a time, and reports
only what made the job start in a simulation.
"""
