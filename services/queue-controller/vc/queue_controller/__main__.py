"""`vc-queue-controller`: command line → environment → Config → adapters → run."""

import os
from collections.abc import Sequence
from typing import Final

from vc.queue_controller.config import VARIABLES, Config
from vc.runtime.hosting.host import Build
from vc.runtime.program import Program, run_program


def _load() -> Build:
    from vc.queue_controller.service import build

    return lambda context: build(context, Config.from_env(os.environ))


PROGRAM: Final = Program(
    service="queue-controller",
    purpose="Keeps the tree of queues: root and default, states, commands, and counters.",
    variables=VARIABLES,
    read=Config.from_env,
    load=_load,
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the queue-controller until it receives a signal to stop."""
    run_program(PROGRAM, arguments)


if __name__ == "__main__":
    main()
