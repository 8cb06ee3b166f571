"""`vc-admission`: command line → environment → Config → adapters → run."""

import os
from collections.abc import Sequence
from typing import Final

from vc.admission.config import VARIABLES, Config, file_problems
from vc.runtime.hosting.host import Build
from vc.runtime.program import Program, run_program


def _load() -> Build:
    from vc.admission.service import build

    return lambda context: build(context, Config.from_env(os.environ))


PROGRAM: Final = Program(
    service="admission",
    purpose="The webhooks of the API server: defaults and validation of vcjobs, queues, pod groups, pods and flows.",
    variables=VARIABLES,
    read=Config.from_env,
    file_problems=file_problems,
    load=_load,
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run admission until it receives a signal to stop."""
    run_program(PROGRAM, arguments)


if __name__ == "__main__":
    main()
