"""A real Helm renders a chart."""

import subprocess
from pathlib import Path

import pytest

from tests.integration.parts.require import require
from vc.parts import obtain

pytestmark = pytest.mark.slow

HELM_SECONDS_MAX = 30.0


def test_helm_renders_a_template(tmp_path: Path) -> None:
    require("helm")
    (tmp_path / "templates").mkdir()
    (tmp_path / "Chart.yaml").write_text("apiVersion: v2\nname: probe\nversion: 0.1.0\n")
    (tmp_path / "templates" / "map.yaml").write_text(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}-map}\n"
    )
    done = subprocess.run(
        [str(obtain("helm").path), "template", "volcano", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=HELM_SECONDS_MAX,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "name: volcano-map" in done.stdout
