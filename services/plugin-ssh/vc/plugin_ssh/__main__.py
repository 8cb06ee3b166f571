"""`vc-plugin-ssh`: command line → environment → Config → adapters → run."""

import os
from collections.abc import Sequence
from typing import Final

from vc.plugin_ssh.config import VARIABLES, Config
from vc.runtime.hosting.host import Build
from vc.runtime.program import Program, run_program


def _load() -> Build:
    from vc.plugin_ssh.service import build

    return lambda context: build(context, Config.from_env(os.environ))


PROGRAM: Final = Program(
    service="plugin-ssh",
    purpose="The job plugin `ssh`: a key pair per job, so that its pods log in to one another without a password.",
    variables=VARIABLES,
    read=Config.from_env,
    load=_load,
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Answer requests until a signal to stop."""
    run_program(PROGRAM, arguments)


if __name__ == "__main__":
    main()
