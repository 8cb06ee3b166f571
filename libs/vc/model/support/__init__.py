"""The support table: every field, key and argument that a user can write, and how it is handled.

`table.ENTRIES` is the data. `lookup.py` looks up the fields of an object; `configuration.py` has
the keys and arguments of the scheduler; `document.py` renders `docs/support-matrix.md`. Admission,
controllers and scheduler all use this table, so each answer is written once, and a test checks the
schemas for fields without an answer.
"""

from vc.model.support.answers import Answer, Case, Entry
from vc.model.support.lookup import Found, conditions, look_up
from vc.model.support.table import ENTRIES

__all__ = ["ENTRIES", "Answer", "Case", "Entry", "Found", "conditions", "look_up"]
