"""`vc-dashboard`: command line → environment → Config → adapters → run."""

import os
from collections.abc import Sequence
from typing import Final

from vc_dashboard.config import VARIABLES, Config
from vc_runtime.host import Build
from vc_runtime.program import Program, run_program


def _load() -> Build:
    from vc_dashboard.service import build

    return lambda context: build(context, Config.from_env(os.environ))


PROGRAM: Final = Program(
    service="dashboard",
    purpose="A read-only HTTP API over the bus: jobs, queues, explanations, what-if, usage, invariants, and one plain page.",
    variables=VARIABLES,
    read=Config.from_env,
    load=_load,
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the dashboard until it is told to stop."""
    run_program(PROGRAM, arguments)


if __name__ == "__main__":
    main()
