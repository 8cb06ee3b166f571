"""Run the job-controller alone in this process."""

from vc_job_controller.service import build
from vc_runtime.main import run_service


def main() -> None:
    """Environment to adapters to service."""
    run_service("job-controller", build)


if __name__ == "__main__":
    main()
