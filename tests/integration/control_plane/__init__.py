"""Queues, pod groups and admission as users meet them: kubectl on both sorts of API server."""
