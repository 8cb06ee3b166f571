"""What the plugin services share: the shell, the argument parser, the host names of a job.

A plugin service is its pure `decorate` and this. Import the modules, not the package: pure cores
use `arguments`, `hosts`, `roles` and `answers`; only `service` does I/O.
"""
