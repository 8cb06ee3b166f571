"""Shares and limits along the queue tree, for the plugins proportion and capacity."""
