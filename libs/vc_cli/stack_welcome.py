"""What a person is told when a stack is up: where things are, and three things to try."""

from pathlib import Path

from vc_cli.ctl.parser_options import DASHBOARD_VARIABLE
from vc_cli.stack_clusters import EMBEDDED
from vc_cli.stack_file import StackFile


def welcome(stack: StackFile, home: Path) -> str:
    """Addresses first; a password in an address is not shown."""
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
        # A real API server passes questions on to pods alone, and the dashboard is a process here.
        exports.append(f"  export {DASHBOARD_VARIABLE}={stack.dashboard}   # vcctl asks it there")
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
