"""The kubelets of all simulated nodes: one reader and one heap of timers, without a task per pod.

Every Node object of the API has a kubelet here while it is Ready. All durable state is in the API:
annotations of pods define their behaviour, their status shows the progress, and node conditions
show which nodes are alive. The state in memory (timers, held capacity) is rebuilt from the API.
"""

import heapq
from collections.abc import Callable
from functools import partial
from typing import Final

import msgspec

from vc.model.api.struct import JsonObject
from vc.model.values.times import format_micro_time, format_time, parse_time
from vc.simcluster.kubelet import pod_life
from vc.simcluster.kubelet.node_capacity import NodeCapacity, pod_requests
from vc.simcluster.kubelet.node_pools import ready_conditions
from vc.simcluster.schema.builtin_resources import NODES, PODS
from vc.simcluster.schema.pod_defaults import containers_of
from vc.simcluster.store.store import Key, Record
from vc.simcluster.verbs.api import Api

_FINISHED: Final = ("Succeeded", "Failed")


class Timings(msgspec.Struct, frozen=True, kw_only=True):
    """Durations on a simulated node."""

    start_seconds: float = 0.2
    """Time from the binding to Running."""
    restart_seconds: float = 1.0
    """Back-off before the containers of a pod are started again."""
    lost_seconds: float = 10.0
    """Time after which the pods of a dead node are removed."""


class PodRun(msgspec.Struct, kw_only=True):
    """The state of one pod on a live node."""

    uid: str
    key: Key
    node: str
    stage: str
    """starting, running, waiting (for a restart), ending or done."""
    turn: int = 0
    """Incremented with each stage. Timers of an earlier turn are ignored."""
    due_seconds: float = 0.0


class Kubelets:
    """The synchronous core: it receives changes and the time, and writes statuses."""

    def __init__(self, api: Api, timings: Timings) -> None:
        self._api = api
        self._timings = timings
        self._nodes: dict[str, NodeCapacity] = {}
        """The capacity of live nodes. A dead node has no entry."""
        self._addresses: dict[str, str] = {}
        self._runs: dict[str, PodRun] = {}
        self._timers: list[tuple[float, int, Callable[[], None]]] = []
        self._timer_count = 0
        self._addresses_given = 0
        self._node_turn: dict[str, int] = {}

    @property
    def next_due_seconds(self) -> float | None:
        """When `fire` has work to do, on the monotonic clock. None without timers."""
        return self._timers[0][0] if self._timers else None

    def fire(self) -> None:
        """Run all timers that are due."""
        now = self._api.clock.monotonic()
        # The clock is read once, so a timer that a callback sets runs now only if it takes no time.
        while self._timers and self._timers[0][0] <= now:
            heapq.heappop(self._timers)[2]()

    def _after(self, seconds: float, what: Callable[[], None]) -> float:
        due = self._api.clock.monotonic() + max(0.0, seconds)
        # The counter keeps timers of the same moment in FIFO order and avoids comparing callables.
        self._timer_count += 1
        heapq.heappush(self._timers, (due, self._timer_count, what))
        return due

    def _next(self, run: PodRun, stage: str, seconds: float | None) -> None:
        """Enter a stage, and schedule its end. With None the stage has no end."""
        run.stage = stage
        # Timers cannot be removed from the heap; the number disables those of older stages.
        run.turn += 1
        if seconds is not None:
            run.due_seconds = self._after(seconds, partial(self._on_timer, run, run.turn))

    def rebuild(self) -> None:
        """Drop all state and read the API again.

        Running pods come first, because they already hold their capacity.
        """
        self._nodes.clear()
        self._node_turn.clear()
        self._runs.clear()
        self._timers.clear()
        for record in list(self._api.store.table(NODES).records.values()):
            self.see_node(record)
        pods = list(self._api.store.table(PODS).records.values())
        # Only an estimate: new pods should not repeat the addresses of existing ones.
        self._addresses_given = len(pods)
        # A pending pod that came first could take capacity that a running pod already uses.
        pods.sort(key=lambda record: record.fields["status.phase"] != "Running")
        for record in pods:
            self.see_pod(record)

    # Node events: created, not ready, ready again, deleted.

    def see_node(self, record: Record) -> None:
        node = record.object()
        status = node.get("status") or {}
        ready = [c for c in status.get("conditions") or [] if c.get("type") == "Ready"]
        if not ready:
            now = format_time(self._api.clock.now())
            self._api.lifecycle.edit(NODES, record.key, partial(_register, now=now))
        # A node without a Ready condition was created by hand; `_register` has just made it Ready.
        if ready and ready[0].get("status") != "True":
            self.lose_node(record.name)
            return
        addresses = status.get("addresses") or []
        inner = [a["address"] for a in addresses if a.get("type") == "InternalIP"]
        self._addresses[record.name] = inner[0] if inner else "172.18.0.1"
        allocatable = status.get("allocatable") or status.get("capacity") or {}
        known = self._nodes.get(record.name)
        if known is not None:
            # Only the limits change; the amounts held by running pods must be kept.
            known.allocatable = NodeCapacity(allocatable).allocatable
            return
        self._nodes[record.name] = NodeCapacity(allocatable)
        # A new turn cancels the pending removal of the pods of a node that came back.
        self._node_turn[record.name] = self._node_turn.get(record.name, 0) + 1
        for pod in self._pods_on(record.name):
            self.see_pod(pod)

    def _pods_on(self, node: str) -> list[Record]:
        records = self._api.store.table(PODS).records.values()
        return [record for record in records if record.fields["spec.nodeName"] == node]

    def lose_node(self, name: str) -> None:
        """Mark the pods of a dead or deleted node, and remove them if the node does not return."""
        # The node is already known to be lost, and its removal timer runs.
        if self._nodes.pop(name, None) is None and name in self._node_turn:
            return
        turn = self._node_turn[name] = self._node_turn.get(name, 0) + 1
        now = format_time(self._api.clock.now())
        for record in self._pods_on(name):
            run = self._runs.pop(record.uid, None)
            if run is not None:
                # The kubelet is gone, so its timers must not start, finish or remove the pod.
                run.turn += 1
            if record.fields["status.phase"] not in _FINISHED:
                self._api.lifecycle.edit(PODS, record.key, partial(pod_life.lost, now=now))
        # A real cluster waits 300 s by the default toleration of pods; a simulation need not.
        self._after(self._timings.lost_seconds, partial(self._remove_lost, name, turn))

    def _remove_lost(self, node: str, turn: int) -> None:
        if self._node_turn.get(node) != turn:
            return  # the node came back
        for record in self._pods_on(node):
            self._remove(record.key, record.uid)

    def _remove(self, key: Key, uid: str) -> None:
        record = self._api.store.find(PODS, key)
        # The uid protects a new pod that has got the same name meanwhile.
        if record is not None and record.uid == uid:
            # As by a real kubelet: a grace period of 0 confirms that all containers have ended.
            self._api.lifecycle.delete(PODS, record, {"gracePeriodSeconds": 0})

    # Pod events: bound, terminating, deleted.

    def forget_pod(self, record: Record) -> None:
        run = self._runs.pop(record.uid, None)
        if run is None:
            return
        run.turn += 1
        self._release(run)
        names = [c.get("name", "") for c in containers_of(record.object()["spec"], "containers")]
        self._api.pod_logs.forget(record.uid, names)

    def _release(self, run: PodRun) -> None:
        capacity = self._nodes.get(run.node)
        if capacity is not None:
            capacity.release(run.uid)

    def see_pod(self, record: Record) -> None:
        """Process the current state of a pod. The call is idempotent."""
        capacity = self._nodes.get(record.fields["spec.nodeName"])
        # No kubelet runs there, so the pod stays as it is, like on a node that is down.
        if capacity is None:
            return
        run = self._runs.get(record.uid)
        if run is None:
            run = self._adopt(record, capacity)
        # Another client, for example a controller, may set a final phase.
        if record.fields["status.phase"] in _FINISHED and run.stage not in ("done", "ending"):
            self._next(run, "done", None)
            self._release(run)
        if record.deleting:
            self._begin_end(run, record)

    def _adopt(self, record: Record, capacity: NodeCapacity) -> PodRun:
        """Start to track a pod: admit a new pod, or resume one that another kubelet started."""
        pod = record.object()
        run = PodRun(
            uid=record.uid, key=record.key, node=record.fields["spec.nodeName"], stage="done"
        )
        self._runs[record.uid] = run
        phase = record.fields["status.phase"]
        if phase in _FINISHED:
            return run
        requests = pod_requests(pod["spec"])
        if phase == "Running":
            # A running pod keeps its capacity without a check: it was admitted before this kubelet
            # started.
            capacity.hold(record.uid, {**requests, "pods": 1000})
            self._resume(run, pod)
            return run
        # A pod that is already terminating takes no capacity, because `see_pod` ends it at once.
        refusal = None if record.deleting else capacity.take(record.uid, requests)
        if refusal is None:
            self._next(run, "starting", self._timings.start_seconds)
            return run
        change = partial(pod_life.rejected, reason=refusal.reason, message=refusal.message)
        self._write(run, change)
        return run

    def _resume(self, run: PodRun, pod: JsonObject) -> None:
        """Restore the timers of a pod that was already running, from its status."""
        statuses = pod["status"].get("containerStatuses") or [{}]
        state = statuses[0].get("state") or {}
        # The containers were between two attempts when the previous kubelet stopped.
        if "running" not in state:
            self._next(run, "waiting", self._timings.restart_seconds)
            return
        length = pod_life.read_behaviour(pod).run_seconds
        # Without a start time the run counts from now, so that the pod does not end too early.
        began = parse_time(state["running"].get("startedAt")) or self._api.clock.now()
        left = None if length is None else began + length - self._api.clock.now()
        self._next(run, "running", left)

    def _begin_end(self, run: PodRun, record: Record) -> None:
        """Start the termination of a pod.

        A pod that runs ends after its own grace time, but not later than its grace period. Any
        other pod ends at once.
        """
        pod = record.object()
        grace = pod["metadata"].get("deletionGracePeriodSeconds") or 0
        takes = (
            pod_life.read_behaviour(pod).grace_seconds if run.stage in ("running", "ending") else 0
        )
        # After the grace period a real kubelet sends SIGKILL, whatever the container does.
        seconds = min(takes, grace)
        due = self._api.clock.monotonic() + seconds
        # A repeated deletion may only shorten the time that is left.
        if run.stage != "ending" or due < run.due_seconds:
            self._next(run, "ending", seconds)

    def _on_timer(self, run: PodRun, turn: int) -> None:
        # The pod has entered another stage since this timer was set.
        if run.turn != turn:
            return
        match run.stage:
            case "starting":
                self._start(run, attempt=0)
            case "running":
                self._exit(run)
            case "waiting":
                # The restart count in the status survives a restart of this process; a counter here
                # would not.
                record = self._api.store.find(PODS, run.key)
                done = pod_life.attempt_of(record.object()) if record else 0
                self._start(run, attempt=done + 1)
            case "ending":
                self._end(run)

    def _start(self, run: PodRun, *, attempt: int) -> None:
        self._addresses_given += 1
        given = self._addresses_given
        # Addresses are unique within a run but need not be routable.
        address = f"10.{244 + (given >> 16 & 7)}.{given >> 8 & 255}.{given & 255}"
        host = self._addresses[run.node]

        def change(pod: JsonObject, *, now: str) -> None:
            pod_life.running(pod, now=now, attempt=attempt)
            status = pod["status"]
            # A restarted container keeps the addresses of its pod.
            status.setdefault("podIP", address)
            status.setdefault("podIPs", [{"ip": status["podIP"]}])
            status.setdefault("hostIP", host)
            status.setdefault("hostIPs", [{"ip": host}])

        pod = self._write(run, change)
        if pod is None:
            return
        for container in containers_of(pod["spec"], "containers"):
            line = (
                f"started on {run.node}, attempt {attempt + 1}: {pod_life.command_line(container)}"
            )
            self._log(run, container, line)
        self._next(run, "running", pod_life.read_behaviour(pod).run_seconds)

    def _exit(self, run: PodRun) -> None:
        record = self._api.store.find(PODS, run.key)
        if record is None or record.uid != run.uid:
            return
        pod = record.object()
        code = pod_life.read_behaviour(pod).code_of(pod_life.attempt_of(pod))
        # The restart policy decides between a back-off and a final phase.
        again = pod_life.restarts(pod, code)
        change = partial(pod_life.backing_off if again else pod_life.finished, code=code)
        self._write(run, change)
        for container in containers_of(pod["spec"], "containers"):
            self._log(run, container, f"exited with code {code}")
        if again:
            self._next(run, "waiting", self._timings.restart_seconds)
        else:
            self._next(run, "done", None)
            self._release(run)

    def _end(self, run: PodRun) -> None:
        """Write the final status of the containers, then remove the pod from the API."""
        record = self._api.store.find(PODS, run.key)
        if record is None or record.uid != run.uid:
            return
        # Controllers must see the final container states before the pod disappears.
        if record.fields["status.phase"] == "Running":
            self._write(run, pod_life.terminated)
        run.stage = "done"
        self._release(run)
        self._remove(run.key, run.uid)

    def _write(self, run: PodRun, change: Callable[..., None]) -> JsonObject | None:
        """Change the pod's status, unless the pod was deleted or replaced."""
        record = self._api.store.find(PODS, run.key)
        if record is None or record.uid != run.uid:
            return None
        pod = record.object()
        change(pod, now=format_time(self._api.clock.now()))
        self._api.lifecycle.write(PODS, pod)
        return pod

    def _log(self, run: PodRun, container: JsonObject, text: str) -> None:
        stamp = format_micro_time(self._api.clock.now())
        self._api.pod_logs.write(run.uid, container["name"], f"{stamp} {text}")


def _register(node: JsonObject, *, now: str) -> None:
    """Make a Node Ready that a user created without conditions."""
    status: JsonObject = node.setdefault("status", {})
    kept = [c for c in status.get("conditions") or [] if c.get("type") != "Ready"]
    # Only Ready is added: the conditions that the user has set stay as they are.
    status["conditions"] = kept + ready_conditions(now)[-1:]
