"""`vc-scheduler`: command line → environment → Config → adapters → run."""

import os
from collections.abc import Sequence
from typing import Final

from vc.runtime.hosting.host import Build
from vc.runtime.program import Program, run_program
from vc.scheduler.config import VARIABLES, Config, file_problems


def _load() -> Build:
    from vc.scheduler.service import build

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
    """Run the scheduler until it is stopped."""
    run_program(PROGRAM, arguments)


if __name__ == "__main__":
    main()
