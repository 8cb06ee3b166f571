"""The command lines: `pyroclast` runs things, `vcctl` asks about jobs and queues.

Start-up time is a feature: modules here import what they need inside the command that needs it.
"""
