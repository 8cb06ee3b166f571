"""Environment variables that all commands share: the home folder, addresses and ports."""

import os
from pathlib import Path
from typing import Final

DEFAULT_HOME: Final = ".pyroclast"
DEFAULT_API_PORT: Final = 8001
DEFAULT_DASHBOARD_PORT: Final = 8080
DEFAULT_METRICS_PORT: Final = 9100
API_PORT: Final = "PYROCLAST_API_PORT"
DASHBOARD_PORT: Final = "PYROCLAST_DASHBOARD_PORT"
METRICS_PORT: Final = "PYROCLAST_METRICS_PORT"
LOOPBACK: Final = "127.0.0.1"
_PORT_MAX: Final = 65535


def home_folder() -> Path:
    """The folder of the kubeconfig, the logs and `stack.json`."""
    return Path(os.environ.get("PYROCLAST_HOME", DEFAULT_HOME)).absolute()


def api_port() -> int:
    """The port of the embedded API server. 0 selects a free port."""
    return _port(API_PORT, DEFAULT_API_PORT)


def dashboard_port() -> int:
    """The port of the dashboard. 0 selects a free port."""
    return _port(DASHBOARD_PORT, DEFAULT_DASHBOARD_PORT)


def metrics_port() -> int:
    """The port of health and metrics of `up`. 0 selects a free port.

    In a stack each service has its own port.
    """
    return _port(METRICS_PORT, DEFAULT_METRICS_PORT)


def dashboard_host() -> str:
    """The address on which the dashboard of a stack listens. The default is loopback."""
    return os.environ.get("DASHBOARD_HOST") or LOOPBACK


def _port(variable: str, default: int) -> int:
    written = os.environ.get(variable, str(default))
    if not written.isdecimal() or int(written) > _PORT_MAX:
        raise ValueError(
            f"{variable}={written!r} is not a port; use a number from 0 to {_PORT_MAX}"
        )
    return int(written)
