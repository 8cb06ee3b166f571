"""`vc-admission`: environment → Config → adapters → run."""

import os

from vc_admission.config import Config
from vc_admission.service import build
from vc_runtime.main import run_service


def main() -> None:
    """Run admission until it is told to stop."""
    run_service("admission", lambda context: build(context, Config.from_env(os.environ)))


if __name__ == "__main__":
    main()
