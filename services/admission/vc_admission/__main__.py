"""`vc-admission`: command line → environment → Config → adapters → run."""

import os
from collections.abc import Sequence
from typing import Final

from vc_admission.config import VARIABLES, Config, file_problems
from vc_runtime.host import Build
from vc_runtime.program import Program, run_program


def _load() -> Build:
    from vc_admission.service import build

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
    """Run admission until it is told to stop."""
    run_program(PROGRAM, arguments)


if __name__ == "__main__":
    main()
