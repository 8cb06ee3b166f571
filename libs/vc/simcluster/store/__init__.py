"""Storage of objects with versions and history, selectors, uids and generated names."""
