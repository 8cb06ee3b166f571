"""The whole table, in the order in which it is shown."""

from typing import Final

from vc_model.support.answers import Entry
from vc_model.support.configuration import CONFIGURATION
from vc_model.support.kinds_batch import BATCH
from vc_model.support.kinds_scheduling import SCHEDULING
from vc_model.support.metadata import METADATA
from vc_model.support.pods import PODS

ENTRIES: Final[tuple[Entry, ...]] = (*BATCH, *SCHEDULING, *PODS, *METADATA, *CONFIGURATION)
