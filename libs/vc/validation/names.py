"""The forms of names that Kubernetes accepts, each with a message that says what to write."""

import re
from typing import Final

from vc.validation.result import ValidationResult

LABEL_LENGTH_MAX: Final = 63
SUBDOMAIN_LENGTH_MAX: Final = 253

_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_QUALIFIED: Final = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")


def is_label(name: str) -> bool:
    """Whether a name is a DNS-1123 label."""
    return len(name) <= LABEL_LENGTH_MAX and _LABEL.fullmatch(name) is not None


def is_subdomain(name: str) -> bool:
    """Whether a name is a DNS-1123 subdomain."""
    return len(name) <= SUBDOMAIN_LENGTH_MAX and _SUBDOMAIN.fullmatch(name) is not None


def is_qualified(name: str) -> bool:
    """Whether a text is a label value or the name part of a label key."""
    return len(name) <= LABEL_LENGTH_MAX and _QUALIFIED.fullmatch(name) is not None


def is_label_key(key: str) -> bool:
    """Whether a text is a label or annotation key: a qualified name with an optional DNS prefix."""
    # The prefix is separated at the last slash, because a DNS name contains none.
    prefix, slash, name = key.rpartition("/")
    return is_qualified(name) and (not slash or is_subdomain(prefix))


def check_label(found: ValidationResult, path: str, name: str) -> None:
    """Refuse a name that is not a DNS-1123 label."""
    if not is_label(name):
        found.refuse(
            path,
            "must be a DNS-1123 label: at most 63 of a-z, 0-9 and '-', "
            "with a letter or digit first and last",
            value=name,
        )


def check_subdomain(found: ValidationResult, path: str, name: str) -> None:
    """Refuse a name that is not a DNS-1123 subdomain."""
    if not is_subdomain(name):
        found.refuse(
            path,
            "must be a DNS-1123 subdomain: at most 253 of a-z, 0-9, '-' and '.', "
            "with a letter or digit first and last",
            value=name,
        )


def check_qualified(found: ValidationResult, path: str, name: str, *, what: str = "") -> None:
    """Refuse a name that is not a qualified name."""
    if not is_qualified(name):
        subject = f"{what} " if what else ""
        found.refuse(
            path,
            f"{subject}must be a qualified name: at most 63 letters, digits, '-', '_' and '.', "
            "with a letter or digit first and last",
            value=name,
        )
