"""Run the job-controller alone in this process."""

import os

from vc_job_controller.config import Config
from vc_job_controller.service import build
from vc_runtime.main import run_service


def main() -> None:
    """Environment to adapters to service."""
    run_service("job-controller", lambda context: build(context, Config.from_env(os.environ)))


if __name__ == "__main__":
    main()
