"""The state of the cluster that the scheduler keeps between sessions, one concern per module."""
