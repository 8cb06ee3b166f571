"""Eviction: which pods go, compared by one order of victim sets.

`victim_order` defines the order, `minimums` what a gang can give without falling below its minimum,
`capacity_bound` an upper bound that spares simulations, and `victim_search` the search.
"""
