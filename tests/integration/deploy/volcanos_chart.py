"""A chart that renders its definitions as Volcano's does: from templates, without a keep policy.

The templates read them from files of the chart, so that Helm counts them to the release. With `keep=true` it
renders what upstream's does not: `helm.sh/resource-policy: keep` on each.
"""

from pathlib import Path
from typing import Final

import yaml

from tests.integration.deploy.chart import NAMESPACE, ROOT

DEFINITIONS: Final = ROOT / "deploy" / "crds"

_CHART: Final = """\
apiVersion: v2
name: volcano
version: 1.0.0
"""

_CRDS: Final = """\
{{- range $path, $_ := .Files.Glob "crd/*.yaml" }}
---
{{- $definition := $.Files.Get $path | fromYaml }}
{{- if $.Values.keep }}
{{- $annotations := dict "helm.sh/resource-policy" "keep" }}
{{- $_ := set $definition.metadata "annotations" (merge $annotations ($definition.metadata.annotations | default dict)) }}
{{- end }}
{{ toYaml $definition }}
{{- end }}
"""

_REST: Final = """\
apiVersion: v1
kind: ServiceAccount
metadata:
  name: volcano-controllers
  namespace: {{ .Release.Namespace }}
---
kind: ClusterRole
apiVersion: rbac.authorization.k8s.io/v1
metadata:
  name: volcano-controllers
rules:
- apiGroups: ["batch.volcano.sh"]
  resources: ["jobs"]
  verbs: ["get", "list", "watch"]
---
kind: Deployment
apiVersion: apps/v1
metadata:
  name: volcano-controllers
  namespace: {{ .Release.Namespace }}
  labels:
    app: volcano-controller
spec:
  replicas: 0
  selector:
    matchLabels:
      app: volcano-controller
  template:
    metadata:
      labels:
        app: volcano-controller
    spec:
      containers:
      - name: volcano-controllers
        image: vc-controller-manager
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: volcano-scheduler-configmap
  namespace: {{ .Release.Namespace }}
data:
  volcano-scheduler.conf: |
    # kind: CustomResourceDefinition is only a word in here
    actions: "enqueue, allocate"
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata:
  name: of-the-chart
spec:
  weight: 1
"""


def write_chart(folder: Path) -> Path:
    """Its folder. The chart's own Queue comes with an upgrade only: its definition must be there."""
    chart = folder / "volcano"
    (chart / "templates").mkdir(parents=True)
    (chart / "crd").mkdir()
    (chart / "Chart.yaml").write_text(_CHART)
    (chart / "values.yaml").write_text("keep: false\nqueue: false\n")
    for path in sorted(DEFINITIONS.glob("*.yaml")):
        (chart / "crd" / path.name).write_text(path.read_text())
    (chart / "templates" / "crds.yaml").write_text(_CRDS)
    rest, _, queue = _REST.rpartition("---\n")
    (chart / "templates" / "volcano.yaml").write_text(rest)
    (chart / "templates" / "queue.yaml").write_text(
        f"{{{{- if .Values.queue }}}}\n{queue}{{{{- end }}}}\n"
    )
    return chart


def definitions() -> list[str]:
    """Their names."""
    return sorted(
        yaml.safe_load(path.read_text())["metadata"]["name"] for path in DEFINITIONS.glob("*.yaml")
    )


__all__ = ["NAMESPACE", "definitions", "write_chart"]
