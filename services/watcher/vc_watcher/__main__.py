"""`vc-watcher`: environment → Config → adapters → run."""

from vc_runtime.main import run_service
from vc_watcher.service import build


def main() -> None:
    """Run the watcher until it is told to stop."""
    run_service("watcher", build)


if __name__ == "__main__":
    main()
