"""The message when a stack is ready: addresses, and three things to try."""

from pathlib import Path

from vc.cli.pyroclast.stack.clusters import EMBEDDED
from vc.cli.pyroclast.stack.stack_file import StackFile
from vc.cli.vcctl.parser_options import DASHBOARD_VARIABLE


def welcome(stack: StackFile, home: Path) -> str:
    """The message. Passwords in addresses are not shown."""
    services = sum(entry.role == "service" for entry in stack.processes)
    rows = {
        "kubeconfig": stack.kubeconfig,
        "Kafka": stack.kafka,
        "Redis": stack.redis.rpartition("@")[2].removeprefix("redis://"),
        "traces": stack.jaeger,
        "dashboard": stack.dashboard,
        "logs": str(home / "logs"),
    }
    lines = [f"  {name:<11} {value}" for name, value in rows.items() if value]
    exports = [f"  export KUBECONFIG={stack.kubeconfig}"]
    if stack.dashboard and stack.cluster != EMBEDDED:
        # A real API server proxies only to pods, but the dashboard is a process on this machine.
        exports.append(f"  export {DASHBOARD_VARIABLE}={stack.dashboard}   # used by vcctl")
    return "\n".join(
        [
            f"Pyroclast is up: {services} services, each in its own process ({stack.cluster} cluster).",
            "",
            *lines,
            "",
            "Three things to try:",
            "",
            *exports,
            "  kubectl apply -f examples/ && kubectl get vcjob,pg,queue -A",
            "  pyroclast status",
            "  kill a service by its pid and look again: it comes back",
            "",
            "Ctrl-C or `pyroclast stack-down` stops everything.",
        ]
    )
