"""Eviction: the choice of victims, compared by one order of victim sets.

`victims` finds evictable pods, and `victim_order` defines the order of victim sets. `minimums` and
`disruption` limit which pods are evicted together. `capacity_bound` is an upper bound that saves
simulations. `victim_search` is the search, and `search` runs it for one preemptor. `attempts`
bounds the number of preemption attempts per session.
"""
