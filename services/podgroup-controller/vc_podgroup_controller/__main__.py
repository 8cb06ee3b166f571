"""`vc-podgroup-controller`: environment → Config → adapters → run."""

import os

from vc_podgroup_controller.config import Config
from vc_podgroup_controller.service import build
from vc_runtime.main import run_service


def main() -> None:
    """Group pods until told to stop."""
    run_service("podgroup-controller", lambda context: build(context, Config.from_env(os.environ)))


if __name__ == "__main__":
    main()
