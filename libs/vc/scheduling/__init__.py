"""The scheduler's decisions, pure.

Facts go into `columns`; `columns.snapshot` gives an immutable copy; `cycle.run_cycle` decides on it;
`commands` turns decisions into effects. Read `cycle` first. Actions and plugins are one file each.
"""
