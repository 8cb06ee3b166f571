"""Built-in controllers: garbage collection, disruption budgets, volume binding, expiry."""
