"""Writers: binds and evictions, coalesced statuses, and rate-limited conditions and events."""
