"""Shared parts of the job plugin services: the shell, ownership, and tasks that arguments name.

A plugin service consists of its pure core and this package. Import the modules, not the package:
pure cores use `answers`, `named_tasks` and `ownership`, and from `vc.jobs` the flags and host names;
only `service` does I/O.
"""
