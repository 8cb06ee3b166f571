"""`vc-queue-controller`: environment → Config → adapters → run."""

import os

from vc_queue_controller.config import Config
from vc_queue_controller.service import build
from vc_runtime.main import run_service


def main() -> None:
    """Keep queues until told to stop."""
    run_service("queue-controller", lambda context: build(context, Config.from_env(os.environ)))


if __name__ == "__main__":
    main()
