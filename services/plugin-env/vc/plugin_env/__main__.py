"""`vc-plugin-env`: command line → environment → Config → adapters → run."""

import os
from collections.abc import Sequence
from typing import Final

from vc.plugin_env.config import VARIABLES, Config
from vc.runtime.hosting.host import Build
from vc.runtime.program import Program, run_program


def _load() -> Build:
    from vc.plugin_env.service import build

    return lambda context: build(context, Config.from_env(os.environ))


PROGRAM: Final = Program(
    service="plugin-env",
    purpose="The job plugin `env`: gives containers the index of their pod and the size of their task.",
    variables=VARIABLES,
    read=Config.from_env,
    load=_load,
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Answer requests until a signal to stop."""
    run_program(PROGRAM, arguments)


if __name__ == "__main__":
    main()
