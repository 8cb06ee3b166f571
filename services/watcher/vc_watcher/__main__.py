"""`vc-watcher`: environment → Config → adapters → run."""

import os

from vc_runtime.main import run_service
from vc_watcher.config import Config
from vc_watcher.service import build


def main() -> None:
    """Run the watcher until it is told to stop."""
    run_service("watcher", lambda context: build(context, Config.from_env(os.environ)))


if __name__ == "__main__":
    main()
