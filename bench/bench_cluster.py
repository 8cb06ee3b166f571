"""Our own stack, measured as any cluster is: `bench.cluster` on a real API server with KWOK's nodes.

Kafka, Redis, etcd, kube-apiserver, KWOK and every service are processes of this machine, so CPU and
memory of all of them and the audit log are reported too. Not part of `python -m bench`, because its shapes
take minutes. Options go to `bench.cluster`: `python -m bench.bench_cluster --shapes 1x100`.
"""

import signal
import sys
from typing import Final

from bench.cluster.__main__ import parser, run
from bench.cluster.setting import MeasureError
from bench.parts import run_on
from bench.real_stack import OWN_NAME, real_ground
from bench.report import RESULTS

NODES: Final = 50
"""Enough for 5,500 pods: a node of KWOK takes 110."""
SECONDS_MAX: Final = 590.0


async def measure() -> None:
    """Start all processes, measure, report."""
    async with real_ground(real=True, nodes=NODES, kwok=True) as stack:
        await stack.start_services()
        assert stack.plane is not None
        pids = {name: pid for name, pid in stack.pids.items() if name != OWN_NAME}
        given = ["--kubeconfig", str(stack.kubeconfig), "--audit-log", str(stack.plane.audit_log)]
        given += ["--pids", ",".join(f"{name}={pid}" for name, pid in pids.items())]
        given += ["--label", "pyroclast", "--json", str(RESULTS / "cluster.json")]
        given += ["--chart", str(RESULTS / "cluster.svg")]
        whole = await run(parser().parse_args(given + sys.argv[1:]))
        if late := [str(each.shape) for each in whole.shapes if not each.complete]:
            raise MeasureError(f"not over in time: {', '.join(late)}")


def main() -> bool:
    """False when it failed."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # end what was started here too
    parts = ["kafka", "redis", "kubernetes", "kwok"]
    try:
        return run_on(parts, measure, name="cluster", seconds_max=SECONDS_MAX)
    except MeasureError as error:
        print(f"\ncluster: failed: {error}", flush=True)
    except KeyboardInterrupt:
        print("\ncluster: ended by hand", flush=True)
    return False


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
