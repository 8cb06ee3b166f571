"""Extension points, the plugin registry, tiers and voting."""
