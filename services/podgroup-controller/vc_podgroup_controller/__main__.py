"""`vc-podgroup-controller`: environment → Config → adapters → run."""

from vc_podgroup_controller.service import build
from vc_runtime.main import run_service


def main() -> None:
    """Group pods until told to stop."""
    run_service("podgroup-controller", build)


if __name__ == "__main__":
    main()
