"""A what-if ends when its time is over."""

import pytest

from vc.dashboard.logic.answers.future_answers import WhatIfRequest
from vc.dashboard.logic.shares import GaveUpError
from vc.dashboard.logic.what_if import Ground, what_if
from vc.scheduling.conf.model import Conf


def ground() -> Ground:
    return Ground(objects=[], jobs={}, conf=Conf(), basis="b", now=1.8e9, stale="")


def test_a_what_if_without_time_gives_up() -> None:
    with pytest.raises(GaveUpError, match="no time was left"):
        what_if(ground(), WhatIfRequest(), lambda: False)


def test_a_what_if_in_time_is_answered() -> None:
    assert what_if(ground(), WhatIfRequest(), lambda: True).jobs == []
