"""The command-line programs: `pyroclast` runs clusters, `vcctl` works with jobs and queues.

Start-up time matters: a command imports the modules it needs only when it runs.
"""
