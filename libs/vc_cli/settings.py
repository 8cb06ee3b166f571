"""What the environment says to every command: the home folder, addresses and ports."""

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
    """Where the kubeconfig, the logs and `stack.json` are."""
    return Path(os.environ.get("PYROCLAST_HOME", DEFAULT_HOME)).absolute()


def api_port() -> int:
    """Of the embedded API server; 0 takes a free one."""
    return _port(API_PORT, DEFAULT_API_PORT)


def dashboard_port() -> int:
    """Of the dashboard; 0 takes a free one."""
    return _port(DASHBOARD_PORT, DEFAULT_DASHBOARD_PORT)


def metrics_port() -> int:
    """Of health and metrics of `up`; 0 takes a free one. Services of a stack have one each."""
    return _port(METRICS_PORT, DEFAULT_METRICS_PORT)


def dashboard_host() -> str:
    """Where the dashboard of a stack listens: loopback, unless told otherwise."""
    return os.environ.get("DASHBOARD_HOST") or LOOPBACK


def _port(variable: str, default: int) -> int:
    written = os.environ.get(variable, str(default))
    if not written.isdecimal() or int(written) > _PORT_MAX:
        raise ValueError(
            f"{variable}={written!r} is not a port; use a number from 0 to {_PORT_MAX}"
        )
    return int(written)
