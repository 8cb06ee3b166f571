"""What each service asked of the API server, from its audit log, and what the chart lets it ask."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from vc.cli.pyroclast.rights import account_of, rights_of
from vc.cli.pyroclast.services import SERVICES
from vc.model.api.keys import SYSTEM_NAMESPACE

FORBIDDEN = 403
_PREFIX = f"system:serviceaccount:{SYSTEM_NAMESPACE}:"


class Right(NamedTuple):
    """One verb on one resource."""

    service: str
    group: str
    resource: str
    verb: str

    def __str__(self) -> str:
        return f"{self.service}: {self.verb} {self.resource}" + (
            f".{self.group}" if self.group else ""
        )


def granted() -> set[Right]:
    """All that the chart grants."""
    return {
        Right(service, group, resource, verb)
        for service in SERVICES
        for rights in [rights_of(service)]
        for rule in rights.rules + rights.own_rules + rights.identity_rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


class Asked:
    """The log, read to its end each time."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._services = {f"{_PREFIX}{account_of(service)}": service for service in SERVICES}

    def rights(self) -> tuple[set[Right], list[str]]:
        """What was asked and allowed; and every refusal, as a sentence."""
        used: set[Right] = set()
        refused: set[str] = set()
        for line in self._log.read_text().splitlines():
            entry = json.loads(line)
            service = self._services.get(entry["user"]["username"], "")
            about = entry.get("objectRef", {})
            if not service or "resource" not in about:
                continue
            resource = "/".join(filter(None, (about["resource"], about.get("subresource"))))
            right = Right(service, about.get("apiGroup", ""), resource, entry["verb"])
            status = entry.get("responseStatus", {})
            if status.get("code") == FORBIDDEN:
                refused.add(f"{right}: {status.get('message', '')}")
            else:
                used.add(right)
        return used, sorted(refused)


def others(log: Path) -> set[str]:
    """Agents of ours that came without an account of a service."""
    found: set[str] = set()
    for line in log.read_text().splitlines():
        entry = json.loads(line)
        agent: str = entry.get("userAgent", "")
        name = entry["user"]["username"]
        if agent.startswith("pyroclast/") and not name.startswith(_PREFIX):
            found.add(f"{agent} as {name}")
    return found


def sentences(rights: Iterable[Right]) -> list[str]:
    return sorted(str(right) for right in rights)
