"""`vcctl`: ask about jobs and queues from a terminal; `kubectl vc` is the same as a plugin."""

from collections.abc import Sequence

from vc_cli.ctl.entry import run
from vc_cli.ctl.parser import vcctl_parser


def main(argv: Sequence[str] | None = None) -> None:
    """`vcctl`."""
    run(vcctl_parser(), argv)


def kubectl_main(argv: Sequence[str] | None = None) -> None:
    """`kubectl vc`: kubectl finds `kubectl-vc` on the path and passes the rest on."""
    run(vcctl_parser("kubectl vc"), argv)


if __name__ == "__main__":
    main()
