"""Answers from the table of support: what is accepted and has no effect is refused or told.

A field for which an object waits is only a warning here: the scheduler's condition says it, too, and holds
where admission was not asked.
"""

from typing import Final

from vc_admission.logic.endpoints import CREATE
from vc_admission.logic.findings import Findings
from vc_model.struct import JsonObject
from vc_model.support import Answer, ask
from vc_model.support.asking import unknown_in

WHOLE: Final = "object"
"""Stands for the path of an answer to a whole kind."""


def answer(found: Findings, kind: str, written: JsonObject, *, operation: str) -> None:
    """Say what the table says. An object that is there already is not refused when it changes."""
    for item in ask(kind, written):
        if item.case.answer is Answer.REFUSED and operation == CREATE:
            found.refuse(item.path or WHOLE, item.case.text)
        else:
            found.warn(item.path or kind, item.case.text)
    for path, meant in unknown_in(kind, written):
        hint = f"; did you mean {meant}?" if meant else ""
        found.warn(path, f"Kubernetes has no such field, and it has no effect{hint}")
