"""The JobFlow: steps must depend on existing steps, without a cycle.

A step is identified by its name, which is also the name of its template and job. Entries of the
same name are one step, as in Volcano, and create one job. The step waits for the targets of all its
entries, so the graph contains all of them.
"""

from typing import Final

from vc.model.api.job import JobFlow
from vc.validation.graph import find_cycle, unknown_names
from vc.validation.names import check_subdomain
from vc.validation.result import ValidationResult

FLOWS_MAX: Final = 1000
RETAIN_POLICIES: Final = ("", "retain", "delete")
CYCLE_SHOWN_MAX: Final = 10


def check_jobflow(found: ValidationResult, flow: JobFlow) -> None:
    """Check a JobFlow that is created or changed."""
    steps = flow.spec.flows
    if len(steps) > FLOWS_MAX:
        found.refuse("spec.flows", f"more than {FLOWS_MAX} flows; split it")
        return
    needs: dict[str, list[str]] = {}
    for index, step in enumerate(steps):
        check_subdomain(found, f"spec.flows[{index}].name", step.name)
        if step.name in needs:
            found.warn(
                f"spec.flows[{index}].name",
                f"{step.name!r} is listed before: both entries are one step, which makes one job and "
                "waits for the targets of both; use a second template for a second job",
            )
        targets = step.depends_on.targets if step.depends_on else []
        # Entries of one name are one step, so their targets are joined.
        needs[step.name] = [*needs.get(step.name, []), *targets]
    for name, target in unknown_names(needs):
        found.refuse(
            "spec.flows.dependsOn.targets",
            f"flow {name!r} waits for a flow that is not in this JobFlow; add it or remove the name",
            value=target,
        )
    cycle = find_cycle(needs)
    if cycle:
        shown = " → ".join(cycle[:CYCLE_SHOWN_MAX])
        found.refuse("spec.flows", f"wait for each other in a circle: {shown}; remove one target")
    if flow.spec.job_retain_policy not in RETAIN_POLICIES:
        found.refuse(
            "spec.jobRetainPolicy", "must be retain or delete", value=flow.spec.job_retain_policy
        )
