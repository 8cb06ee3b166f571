"""Runs scenarios on the engine of one checkout; a script of its own, because it imports that checkout's packages.

`python engine_worker.py CHECKOUT` reads one scenario per line from standard input (`clusters.py`), and writes one
line per scenario: the canonical decisions of each session. Canonical means: without texts for people, with the
names of the newest layout, sorted where order decides nothing. The checkout's own `World` (a helper of its unit
tests) turns decisions into facts.
"""

import importlib
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import msgspec

Json = dict[str, Any]

RENAMED: Final = {"let_in": "enqueued_groups", "role": "task", "places": "reserved_nodes"}
"""Fields of decisions: the name of an older layout, and today's."""
TEXTS: Final = ("message", "sentence", "why", "shape", "seen_version", "session_id", "transitionID")
"""Texts for people, and fields that depend on how often the cluster was written to."""
MODULES: Final = {
    "vc": ("vc.model.api", "vc.scheduling.conf.model"),
    "vc_": ("vc_model", "vc_scheduler.logic.conf"),
}
"""By layout: the package with the API objects, and the module with the configuration."""
KINDS: Final = {
    "Pod": ("pod", "PODS"),
    "Node": ("node", "NODES"),
    "PodGroup": ("scheduling", "PODGROUPS"),
    "Queue": ("scheduling", "QUEUES"),
    "PriorityClass": ("scheduling", "PRIORITYCLASSES"),
    "PersistentVolumeClaim": ("kubernetes", "CLAIMS"),
    "PersistentVolume": ("kubernetes", "VOLUMES"),
    "StorageClass": ("kubernetes", "STORAGECLASSES"),
    "CSINode": ("kubernetes", "CSINODES"),
    "ResourceQuota": ("kubernetes", "QUOTAS"),
    "PodDisruptionBudget": ("kubernetes", "BUDGETS"),
}


class Engine:
    """The packages of one checkout."""

    def __init__(self, checkout: Path) -> None:
        services = sorted(path for path in (checkout / "services").iterdir() if path.is_dir())
        sys.path[:0] = [str(checkout), str(checkout / "libs"), *map(str, services)]
        layout = "vc" if (checkout / "libs" / "vc").is_dir() else "vc_"
        model, conf = MODULES[layout]
        self._model = model
        self.world = _import(_world_module(checkout), checkout).World
        self._conf = _import(conf, checkout).Conf
        self._kinds = _import(f"{model}.kinds", checkout)

    def conf(self, written: Json) -> Any:
        return msgspec.convert(written, type=self._conf)

    def object(self, kind: str, written: Json) -> Any:
        module = importlib.import_module(f"{self._model}.{KINDS[kind][0]}")
        return msgspec.convert(written, type=getattr(module, kind))

    def kind(self, name: str) -> Any:
        return getattr(self._kinds, KINDS[name][1])


def _world_module(checkout: Path) -> str:
    for found in sorted(checkout.glob("tests/unit/sched*/**/world.py")):
        if "class World:" in found.read_text():
            return ".".join(found.relative_to(checkout).with_suffix("").parts)
    raise SystemExit(f"{checkout} has no world.py of its scheduling tests")


def _import(name: str, checkout: Path) -> ModuleType:
    module = importlib.import_module(name)
    assert Path(module.__file__ or "").is_relative_to(checkout), f"{name} is not of {checkout}"
    return module


class Unchecked:
    """In place of the world's invariants: other tests hold them, and they cost as much as the sessions."""

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *_: None


class Life:
    """One scenario on one engine: sessions, and what happens between them."""

    def __init__(self, engine: Engine, scenario: Json) -> None:
        self._engine = engine
        objects = [engine.object(made["kind"], made["object"]) for made in scenario["objects"]]
        self._world = engine.world(objects, conf=engine.conf(scenario["conf"]))
        self._world.invariants = Unchecked()
        self._again = 0
        self._operations: dict[str, Callable[[Json], None]] = {
            "advance": self._advance,
            "start": self._start,
            "leave": self._leave,
            "finish": lambda op: self._end(op, "Succeeded"),
            "fail": lambda op: self._end(op, "Failed"),
            "delete-pods": self._delete_pods,
            "delete-groups": self._delete_groups,
            "restart": lambda _: self._world.restart(),
            "put": lambda op: self._world.put(engine.object(op["kind"], op["object"])),
            "delete": self._delete,
        }

    def session(self) -> Json:
        decided: Json = canonical(msgspec.to_builtins(self._world.session()))
        return decided

    def turn(self, operations: list[Json]) -> None:
        for operation in operations:
            self._operations[operation["do"]](operation)

    def _advance(self, op: Json) -> None:
        self._world.now += op["seconds"]

    def _start(self, _: Json) -> None:
        """Nodes start what was bound: from now on it has run time to lose."""
        now = datetime.fromtimestamp(self._world.now, UTC)
        for pod in self._world.pods():
            if pod.spec.node_name and pod.status.start_time is None:
                self._set_status(pod, start_time=now.strftime("%Y-%m-%dT%H:%M:%SZ"))

    def _leave(self, op: Json) -> None:
        """Terminating pods are gone; where controllers do so, pods like them wait instead."""
        replace = msgspec.structs.replace
        leaving = [pod for pod in self._world.pods() if pod.metadata.deletion_timestamp]
        self._world.leave()
        if not op["again"]:
            return
        for pod in sorted(leaving, key=lambda pod: pod.metadata.name):
            self._again += 1
            name = f"{pod.metadata.name}{100 + self._again}"
            metadata = replace(pod.metadata, name=name, uid=f"pod-{name}", deletion_timestamp=None)
            status = replace(
                pod.status, phase="Pending", nominated_node_name="", start_time=None, conditions=[]
            )
            spec = replace(pod.spec, node_name="")
            self._world.put(replace(pod, metadata=metadata, spec=spec, status=status))

    def _end(self, op: Json, phase: str) -> None:
        for pod in self._picked(op, running=True):
            self._set_status(pod, phase=phase)

    def _delete_pods(self, op: Json) -> None:
        for pod in self._picked(op, running=False):
            self._world.delete(self._engine.kind("Pod"), pod.key)

    def _picked(self, op: Json, *, running: bool) -> list[Any]:
        some = {
            pod.metadata.name: pod
            for pod in self._world.pods()
            if not running
            or (pod.status.phase == "Running" and not pod.metadata.deletion_timestamp)
        }
        names = sorted({sorted(some)[pick % len(some)] for pick in op["picks"]}) if some else []
        return [some[name] for name in names]

    def _set_status(self, pod: Any, **changes: Any) -> None:
        status = msgspec.structs.replace(pod.status, **changes)
        self._world.put(msgspec.structs.replace(pod, status=status))

    def _delete_groups(self, op: Json) -> None:
        keys = sorted(o.key for o in self._world.objects() if type(o).__name__ == "PodGroup")
        for key in sorted({keys[pick % len(keys)] for pick in op["picks"]}):
            self._world.delete(self._engine.kind("PodGroup"), key)

    def _delete(self, op: Json) -> None:
        if any(
            type(o).__name__ == op["kind"] and o.key == op["key"] for o in self._world.objects()
        ):
            self._world.delete(self._engine.kind(op["kind"]), op["key"])


def canonical(value: Any) -> Any:
    """Without texts, with today's names."""
    if isinstance(value, dict):
        return {
            RENAMED.get(name, name): bool(inner) if name == "refusal" else canonical(inner)
            for name, inner in value.items()
            if name not in TEXTS
        }
    if isinstance(value, list | tuple):
        return [canonical(inner) for inner in value]
    return value


def run(engine: Engine, scenario: Json) -> list[Json]:
    """The decisions of each session; the last says what was raised, if something was."""
    sessions: list[Json] = []
    try:
        life = Life(engine, scenario)
        sessions.append(life.session())
        for operations in scenario["turns"]:
            life.turn(operations)
            sessions.append(life.session())
    except Exception as error:  # noqa: BLE001 - a session that fails is a result, too
        sessions.append({"raised": type(error).__name__, "text": str(error)})
    return sessions


def main() -> None:
    engine = Engine(Path(sys.argv[1]).resolve())
    for line in sys.stdin.buffer:
        scenario = msgspec.json.decode(line)
        sys.stdout.buffer.write(msgspec.json.encode(run(engine, scenario)) + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
