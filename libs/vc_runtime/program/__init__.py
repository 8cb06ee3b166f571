"""The command line of a service: `--help`, `--version`, `--check`, and the run itself.

`declaration` says what a program is, `shared_variables` what all of them read, `checking` what a
configuration amounts to without connecting anywhere, `command_line` is what `main` calls. None of
them imports a client library: help must be there at once.
"""

from vc_runtime.program.command_line import run_program
from vc_runtime.program.declaration import Program

__all__ = ["Program", "run_program"]
