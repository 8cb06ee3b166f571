"""`vc-scheduler`: environment → Config → adapters → run."""

import os

from vc_runtime.main import run_service
from vc_scheduler.config import Config
from vc_scheduler.service import build


def main() -> None:
    """Schedule until told to stop."""
    run_service("scheduler", lambda context: build(context, Config.from_env(os.environ)))


if __name__ == "__main__":
    main()
