"""`vc-dashboard`: command line → environment → Config → adapters → run."""

import os
from collections.abc import Sequence
from typing import Final

from vc.dashboard.config import VARIABLES, Config
from vc.runtime.hosting.host import Build
from vc.runtime.program import Program, run_program


def _load() -> Build:
    from vc.dashboard.service import build

    return lambda context: build(context, Config.from_env(os.environ))


PROGRAM: Final = Program(
    service="dashboard",
    purpose="A read-only HTTP API over the bus: jobs, queues, explanations, what-if, usage, invariants, and one plain page.",
    variables=VARIABLES,
    read=Config.from_env,
    load=_load,
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the dashboard until it receives a signal to stop."""
    run_program(PROGRAM, arguments)


if __name__ == "__main__":
    main()
