"""Values that the cache, the session and the decisions share."""
