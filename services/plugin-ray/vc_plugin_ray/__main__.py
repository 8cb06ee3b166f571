"""`vc-plugin-ray`: environment → Config → adapters → run."""

import os

from vc_plugin_ray.config import Config
from vc_plugin_ray.service import build
from vc_runtime.main import run_service


def main() -> None:
    """Answer until told to stop."""
    run_service("plugin-ray", lambda context: build(context, Config.from_env(os.environ)))


if __name__ == "__main__":
    main()
