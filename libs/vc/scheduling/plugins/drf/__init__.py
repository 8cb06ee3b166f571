"""drf: dominant resource fairness among jobs and, with hierarchy, among queues."""
