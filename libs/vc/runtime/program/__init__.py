"""The command line of a service: `--help`, `--version`, `--check`, and running it.

`declaration` describes a program, `vc.runtime.hosting.variables` has the variables that all
programs read, `checking` validates a configuration without connecting, and `command_line` is what
`main` calls. None of them imports a client library, so that `--help` is fast.
"""

from vc.runtime.program.command_line import run_program
from vc.runtime.program.declaration import Program

__all__ = ["Program", "run_program"]
