"""`vc-scheduler`: command line → environment → Config → adapters → run."""

import os
from collections.abc import Sequence
from typing import Final

from vc_runtime.host import Build
from vc_runtime.program import Program, run_program
from vc_scheduler.config import VARIABLES, Config, file_problems


def _load() -> Build:
    from vc_scheduler.service import build

    return lambda context: build(context, Config.from_env(os.environ))


PROGRAM: Final = Program(
    service="scheduler",
    purpose="Decides in sessions which pod groups are enqueued and which pods go to which node, binds gangs whole, and says why the others wait.",
    variables=VARIABLES,
    read=Config.from_env,
    file_problems=file_problems,
    load=_load,
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Schedule until told to stop."""
    run_program(PROGRAM, arguments)


if __name__ == "__main__":
    main()
