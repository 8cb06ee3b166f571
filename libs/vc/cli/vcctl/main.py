"""`vcctl`: jobs and queues from a terminal.

`kubectl vc` is the same program as a kubectl plugin.
"""

from collections.abc import Sequence

from vc.cli.vcctl.entry import run
from vc.cli.vcctl.parser import vcctl_parser


def main(argv: Sequence[str] | None = None) -> None:
    """The entry point of `vcctl`."""
    run(vcctl_parser(), argv)


def kubectl_main(argv: Sequence[str] | None = None) -> None:
    """The entry point of `kubectl vc`: kubectl runs `kubectl-vc` with the remaining arguments."""
    run(vcctl_parser("kubectl vc"), argv)


if __name__ == "__main__":
    main()
