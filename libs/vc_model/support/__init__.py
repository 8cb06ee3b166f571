"""The table of support: every field, key and argument a user can write, and its one answer.

`table.ENTRIES` is the data. `asking.py` puts an object to it; `configuration.py` has the scheduler's keys and
arguments; `document.py` renders `docs/support-matrix.md`. Admission, controllers and scheduler ask here, so
an answer is written in one place, and a test walks the schemas for fields that have none.
"""

from vc_model.support.answers import Answer, Case, Entry
from vc_model.support.asking import Found, ask, conditions
from vc_model.support.table import ENTRIES

__all__ = ["ENTRIES", "Answer", "Case", "Entry", "Found", "ask", "conditions"]
