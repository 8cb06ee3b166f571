"""`pyroclast up` listens on fixed ports that can be chosen, and the README shows the defaults."""

from pathlib import Path

import pytest

from vc.cli.pyroclast import settings
from vc.cli.pyroclast.up import WELCOME
from vc.runtime.hosting.listening import url_of

ROOT = Path(__file__).parents[3]


def test_the_readme_shows_what_is_printed_with_the_defaults() -> None:
    shown = WELCOME.format(
        shown=".pyroclast/kubeconfig",
        exported="$PWD/.pyroclast/kubeconfig",
        url=url_of(settings.LOOPBACK, settings.DEFAULT_API_PORT),
        dashboard=url_of(settings.LOOPBACK, settings.DEFAULT_DASHBOARD_PORT),
        metrics=url_of(settings.LOOPBACK, settings.DEFAULT_METRICS_PORT),
    )
    assert f"$ make up\n{shown}\n```" in (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("variable", "default"),
    [
        ("PYROCLAST_API_PORT", 8001),
        ("PYROCLAST_DASHBOARD_PORT", 8080),
        ("PYROCLAST_METRICS_PORT", 9100),
    ],
)
def test_each_port_is_fixed_unless_it_is_chosen(
    monkeypatch: pytest.MonkeyPatch, variable: str, default: int
) -> None:
    read = {
        "PYROCLAST_API_PORT": settings.api_port,
        "PYROCLAST_DASHBOARD_PORT": settings.dashboard_port,
        "PYROCLAST_METRICS_PORT": settings.metrics_port,
    }[variable]
    monkeypatch.delenv(variable, raising=False)
    assert read() == default
    monkeypatch.setenv(variable, "1234")
    assert read() == 1234
    monkeypatch.setenv(variable, "many")
    with pytest.raises(ValueError, match=variable):
        read()
