"""Validates the environment of a program and shows which values it would use.

Everything is read and parsed. Nothing is connected to or started, and no credential plugin is run.
Problems are collected, so that one check shows all of them.
"""

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from vc.model.faults import describe
from vc.model.variables import AnyVariable
from vc.runtime.hosting import variables as shared
from vc.runtime.program.declaration import Program

IN_CLUSTER_VARIABLE: Final = "KUBERNETES_SERVICE_HOST"
NO_CLUSTER: Final = "KUBECONFIG is not set: name a kubeconfig file, or run inside a cluster"
HIDDEN: Final = "(set, not shown)"


@dataclass(frozen=True, kw_only=True)
class CheckFindings:
    """The result of a check."""

    problems: list[str] = field(default_factory=list)
    """Each of them prevents the program from starting as configured."""
    warnings: list[str] = field(default_factory=list)


def check_variables(program: Program, environment: Mapping[str, str]) -> CheckFindings:
    """Check that each variable parses and that they are consistent; reads no file."""
    declared = (*program.variables, *shared.SHARED_VARIABLES)
    problems = [
        problem for variable in declared for problem in _variable_problems(variable, environment)
    ]
    # A combined check of variables that do not parse would only repeat their errors.
    if not problems:
        problems += _refusals(program.read, environment)
    return CheckFindings(problems=problems, warnings=_unknown(program, declared, environment))


def check_everything(program: Program, environment: Mapping[str, str]) -> CheckFindings:
    """Check the variables, and the files and addresses that they name."""
    found = check_variables(program, environment)
    declared = (*program.variables, *shared.SHARED_VARIABLES)
    missing = [
        f"{variable.name}={path!r}: there is no such file; write the path of a file"
        for variable in declared
        if variable.is_file and (path := environment.get(variable.name, ""))
        if not Path(path).is_file()
    ]
    problems = [*found.problems, *missing]
    if not problems:
        problems += program.file_problems(environment)
    problems += [
        *_cluster_problems(environment),
        *_bus_problems(environment, silent=bool(found.problems or missing)),
        *_snapshot_problems(environment),
        *_trace_problems(environment),
    ]
    return CheckFindings(problems=problems, warnings=found.warnings)


def described(program: Program, environment: Mapping[str, str]) -> Iterable[tuple[str, str]]:
    """Each variable with its effective value, for display; secrets are hidden."""
    for variable in (*program.variables, *shared.SHARED_VARIABLES):
        yield variable.name, _shown(variable, environment)


def _shown(variable: AnyVariable, environment: Mapping[str, str]) -> str:
    if not variable.is_given(environment):
        return f"{variable.shown} (default)" if variable.shown else "(not set)"
    if variable.secret:
        return HIDDEN
    return environment[variable.name] or "(empty)"


def _variable_problems(variable: AnyVariable, environment: Mapping[str, str]) -> list[str]:
    return _refusals(variable.read, environment)


def _refusals(read: Any, environment: Mapping[str, str]) -> list[str]:
    try:
        read(environment)
    except ValueError as error:
        return [str(error)]
    return []


def _unknown(
    program: Program, declared: Iterable[AnyVariable], environment: Mapping[str, str]
) -> list[str]:
    """Variables with the prefix of this program that it does not read;
    they are probably misspelt.
    """
    known = [variable.name for variable in declared]
    warnings: list[str] = []
    for name in sorted(environment):
        if name.startswith(program.prefix) and name not in known:
            # A misspelt variable is silently ignored by the service, so suggest the right name.
            near = difflib.get_close_matches(name, known, n=1)
            meant = f"; did you mean {near[0]}?" if near else ""
            warnings.append(
                f"{name} is set and has no effect: {program.name} does not read it{meant}"
            )
    return warnings


def _cluster_problems(environment: Mapping[str, str]) -> list[str]:
    paths = environment.get(shared.KUBECONFIG.name, "")
    if not paths:
        return [] if environment.get(IN_CLUSTER_VARIABLE) else [NO_CLUSTER]
    files = [Path(part).expanduser() for part in paths.split(":") if part]
    there = [path for path in files if path.is_file()]
    if not there:
        return [f"KUBECONFIG={paths!r}: there is no such file; write the path of a kubeconfig"]
    return [problem for path in there for problem in _kubeconfig_problems(path)]


def _kubeconfig_problems(path: Path) -> list[str]:
    import yaml

    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        reason = describe(error).replace("\n", " ")
        return [f"KUBECONFIG={str(path)!r} cannot be read: {reason}"]
    if not isinstance(document, dict) or not isinstance(document.get("clusters"), list):
        return [f"KUBECONFIG={str(path)!r} is not a kubeconfig: it has no list `clusters`"]
    current = document.get("current-context")
    contexts = {c.get("name") for c in document.get("contexts") or [] if isinstance(c, dict)}
    # The client would only fail at its first request; here the remedy is named.
    if current and current not in contexts:
        problem = f"current-context {current!r} is not among its contexts"
        return [f"KUBECONFIG={str(path)!r}: {problem}; run `kubectl config use-context`"]
    return []


def _bus_problems(environment: Mapping[str, str], *, silent: bool) -> list[str]:
    """Errors of the bus configuration; `silent` if its variables were already reported."""
    if silent or not environment.get(shared.KAFKA_BOOTSTRAP_SERVERS.name):
        return []
    from vc.bus.kafka import KafkaConfig

    try:
        KafkaConfig.from_env(environment).client_settings()
    except (ValueError, OSError) as error:
        return [f"Kafka's settings (KAFKA_SSL_…, KAFKA_SASL_…) cannot be used: {describe(error)}"]
    return []


def _snapshot_problems(environment: Mapping[str, str]) -> list[str]:
    url = environment.get(shared.REDIS_URL.name, "")
    fix = "REDIS_URL (not shown): write redis://host:port/db, rediss://… or unix://path"
    try:
        parts = urlsplit(url)
        # Reading the port parses it, and raises ValueError if it is invalid.
        _ = parts.port
    except ValueError:
        return [fix]
    if url and (
        parts.scheme not in {"redis", "rediss", "unix"} or not (parts.netloc or parts.path)
    ):
        return [fix]
    return []


def _trace_problems(environment: Mapping[str, str]) -> list[str]:
    url = environment.get(shared.OTEL_EXPORTER_OTLP_ENDPOINT.name, "")
    if url and urlsplit(url).scheme not in {"http", "https"}:
        return [f"{shared.OTEL_EXPORTER_OTLP_ENDPOINT.name}={url!r}: write http://host:port"]
    return []
