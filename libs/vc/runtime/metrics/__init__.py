"""Prometheus collectors: request counters,
series that are replaced as a whole, batched histograms.
"""
