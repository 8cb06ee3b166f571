"""`vc-usage-ledger`: command line → environment → Config → adapters → run."""

import os
from collections.abc import Sequence
from typing import Final

from vc.runtime.hosting.host import Build
from vc.runtime.program import Program, run_program
from vc.usage_ledger.config import VARIABLES, Config


def _load() -> Build:
    from vc.usage_ledger.service import build

    return lambda context: build(context, Config.from_env(os.environ))


PROGRAM: Final = Program(
    service="usage-ledger",
    purpose="Records usage by queue, namespace, job and hour, and publishes it for reports.",
    variables=VARIABLES,
    read=Config.from_env,
    load=_load,
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the usage-ledger until it receives a signal to stop."""
    run_program(PROGRAM, arguments)


if __name__ == "__main__":
    main()
