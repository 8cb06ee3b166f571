"""`vc-scheduler`: environment → Config → adapters → run."""

from vc_runtime.main import run_service
from vc_scheduler.service import build


def main() -> None:
    """Schedule until told to stop."""
    run_service("scheduler", build)


if __name__ == "__main__":
    main()
