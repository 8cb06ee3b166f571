"""Explanations: which change would start a waiting job, checked by simulation.

A session itself proposes what would remove its refusal (`session/reasons.py`,
`placement/node_fit.py`). That is cheap, but it considers one refusal only. `remedy_search` runs
off the hot path for one job at a time, and reports only changes that started the job in a
simulation.
"""
