"""What measures: statistics, charts and logs of requests."""
