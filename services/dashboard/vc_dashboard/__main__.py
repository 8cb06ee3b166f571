"""`vc-dashboard`: environment → Config → adapters → run."""

import os

from vc_dashboard.config import Config
from vc_dashboard.service import build
from vc_runtime.main import run_service


def main() -> None:
    """Run the dashboard until it is told to stop."""
    run_service("dashboard", lambda context: build(context, Config.from_env(os.environ)))


if __name__ == "__main__":
    main()
