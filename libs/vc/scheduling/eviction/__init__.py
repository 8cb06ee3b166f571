"""Eviction: the choice of victims, compared by one order of victim sets.

`victims` finds evictable pods and limits which of them are evicted together. `victim_order` defines
the order of victim sets. `capacity_bound` is an upper bound that saves simulations. `victim_search`
is the search, and `search` runs it for one preemptor and commits the result.
"""
