"""predicates: node selectors, taints, affinity, ports, spread, volumes."""
