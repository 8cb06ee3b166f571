"""`vc-watcher`: command line → environment → Config → adapters → run."""

import os
from collections.abc import Sequence
from typing import Final

from vc.runtime.hosting.host import Build
from vc.runtime.program import Program, run_program
from vc.watcher.config import VARIABLES, Config


def _load() -> Build:
    from vc.watcher.service import build

    return lambda context: build(context, Config.from_env(os.environ))


PROGRAM: Final = Program(
    service="watcher",
    purpose="The one reader of the API server: publishes every watched object on the bus as a fact, with the progress that other services wait for.",
    variables=VARIABLES,
    read=Config.from_env,
    load=_load,
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the watcher until it is stopped."""
    run_program(PROGRAM, arguments)


if __name__ == "__main__":
    main()
