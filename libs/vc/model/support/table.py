"""The whole table, in the order in which it is shown."""

from typing import Final

from vc.model.support.answers import Entry
from vc.model.support.configuration import CONFIGURATION
from vc.model.support.kinds_batch import BATCH
from vc.model.support.kinds_scheduling import SCHEDULING
from vc.model.support.metadata import METADATA
from vc.model.support.pods import PODS

ENTRIES: Final[tuple[Entry, ...]] = (*BATCH, *SCHEDULING, *PODS, *METADATA, *CONFIGURATION)
