"""Answers of the support table: accepted fields without an effect are refused or reported.

A field that makes an object wait is only a warning here. The scheduler's condition reports it too,
also where admission was not called.
"""

from typing import Final

from vc.model.api.struct import JsonObject
from vc.model.support import Answer, look_up
from vc.model.support.lookup import unknown_in
from vc.validation.request import CREATE
from vc.validation.result import ValidationResult

WHOLE: Final = "object"
"""Path of an answer that concerns a whole kind."""


def answer(found: ValidationResult, kind: str, written: JsonObject, *, operation: str) -> None:
    """Report what the table says. A change of an existing object is not refused."""
    for item in look_up(kind, written):
        # An existing object must stay changeable, even if it has a field that is refused now.
        if item.case.answer is Answer.REFUSED and operation == CREATE:
            found.refuse(item.path or WHOLE, item.case.text)
        else:
            found.warn(item.path or kind, item.case.text)
    for path, meant in unknown_in(kind, written):
        hint = f"; did you mean {meant}?" if meant else ""
        found.warn(path, f"Kubernetes has no such field, and it has no effect{hint}")
