"""The whole system hurt on purpose: every service its own process on real Kafka and Redis.

Each scenario breaks one thing a counted number of times under load and then asks the same questions:
is every job completed, was every pod made once, was any node over-committed at any bind, is any gang
partial, did any policy fire, and does `/invariants` hold, then and while it was hurt. One line per
scenario says what was counted.
"""
