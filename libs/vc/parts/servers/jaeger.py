"""Jaeger with traces in memory: OTLP over HTTP and gRPC, and the query API."""

from pathlib import Path

import yaml

from vc.parts.fetch.getting import obtain
from vc.parts.ports import LOOPBACK, free_port
from vc.parts.probe import http_get
from vc.parts.process import Process
from vc.parts.progress import Progress
from vc.parts.server import OneProcess

TRACES_MAX = 100_000
STORAGE = "memory"
STOP_SECONDS_MAX = 1.0
"""Jaeger would wait 10 s for connections that clients keep open.

Its traces are in memory and lost anyway.
"""


def jaeger_settings(*, otlp_http: int, otlp_grpc: int, query: int, query_grpc: int) -> str:
    """Only the settings we use.

    Jaeger's own metrics are off, because they would use a fixed port.
    """

    def at(port: int) -> dict[str, str]:
        return {"endpoint": f"{LOOPBACK}:{port}"}

    pipeline = {"receivers": ["otlp"], "exporters": ["jaeger_storage_exporter"]}
    settings = {
        "service": {
            "extensions": ["jaeger_storage", "jaeger_query"],
            "pipelines": {"traces": pipeline},
            "telemetry": {"metrics": {"level": "none"}, "logs": {"level": "info"}},
        },
        "extensions": {
            "jaeger_storage": {"backends": {STORAGE: {"memory": {"max_traces": TRACES_MAX}}}},
            "jaeger_query": {
                "storage": {"traces": STORAGE},
                "http": at(query),
                "grpc": at(query_grpc),
            },
        },
        "receivers": {"otlp": {"protocols": {"http": at(otlp_http), "grpc": at(otlp_grpc)}}},
        "exporters": {"jaeger_storage_exporter": {"trace_storage": STORAGE}},
    }
    return yaml.safe_dump(settings, sort_keys=False)


class JaegerServer(OneProcess):
    """`async with JaegerServer() as jaeger:`, then use `jaeger.otlp_endpoint` and
    `jaeger.query_url`.
    """

    def __init__(self, *, folder: Path | None = None) -> None:
        super().__init__("jaeger", folder=folder)
        self._ports = {
            "otlp_http": free_port(),
            "otlp_grpc": free_port(),
            "query": free_port(),
            "query_grpc": free_port(),
        }
        self.otlp_endpoint = f"http://{LOOPBACK}:{self._ports['otlp_http']}"
        """For OTEL_EXPORTER_OTLP_ENDPOINT. Exporters append /v1/traces."""
        self.query_url = f"http://{LOOPBACK}:{self._ports['query']}"
        """GET {query_url}/api/traces/<id> returns one trace."""

    def make_process(self) -> Process:
        """Write the settings file, which is the only one that Jaeger reads."""
        program = obtain("jaeger", say=Progress()).path
        settings_file = self.folder / "jaeger.yaml"
        settings_file.write_text(jaeger_settings(**self._ports))
        command = [str(program), "--config", str(settings_file)]
        return Process(
            "jaeger",
            command,
            log=self.log_of("jaeger"),
            ready=self._ready,
            stop_seconds_max=STOP_SECONDS_MAX,
        )

    async def _ready(self) -> bool:
        """Check both ends: the query API responds, and the receiver answers a GET with 405."""
        query = await http_get(f"{self.query_url}/api/services")
        receiver = await http_get(f"{self.otlp_endpoint}/v1/traces")
        return query.status == 200 and receiver.status == 405
