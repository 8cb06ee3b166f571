"""Shared parts of the job plugin services: the shell, the argument parser, host names of a job.

A plugin service consists of its pure `decorate` and this package. Import the modules, not the
package: pure cores use `arguments`, `hosts`, `roles` and `answers`; only `service` does I/O.
"""
