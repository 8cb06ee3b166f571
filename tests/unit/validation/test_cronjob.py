"""CronJobs: schedules, time zones, names and policies."""

import pytest

from tests.unit.admission.objects import (
    Case,
    ask,
    assert_answers,
    case_id,
)
from tests.unit.validation.kinds import KNOWN, cron

CRONJOBS = (
    Case(says="a schedule of five fields", object=cron()),
    Case(says="names, ranges, lists and steps", object=cron(schedule="*/5,7 1-5 1 jan-mar MON")),
    Case(says="a descriptor", object=cron(schedule="@hourly")),
    Case(says="every so often", object=cron(schedule="@every 1h30m")),
    Case(says="an empty schedule is refused", object=cron(schedule=" "), refused="is required"),
    Case(says="a time zone in the schedule is refused", object=cron(schedule="TZ=UTC 0 3 * * *"),
         refused="use spec.timeZone"),
    Case(says="four fields are refused", object=cron(schedule="0 3 * *"), refused="has 4 fields"),
    Case(says="a minute of 60 is refused", object=cron(schedule="60 3 * * *"),
         refused="minute '60' is not between 0 and 59"),
    Case(says="a step of 0 is refused", object=cron(schedule="*/0 3 * * *"), refused="step of 0"),
    Case(says="a range backwards is refused", object=cron(schedule="5-1 3 * * *"),
         refused="ends before it begins"),
    Case(says="an unknown descriptor is refused", object=cron(schedule="@often"),
         refused="is no descriptor"),
    Case(says="every nonsense is refused", object=cron(schedule="@every soon"),
         refused="is not a duration"),
    Case(says="a known time zone", object=cron(timeZone="Europe/Berlin")),
    Case(says="an empty time zone is refused", object=cron(timeZone=""), refused="spec.timeZone"),
    Case(says="the machine's time zone is refused", object=cron(timeZone="Local"),
         refused="must name a time zone"),
    Case(says="an unknown time zone is refused", object=cron(timeZone="Mars/Olympus"),
         refused="is no time zone"),
    Case(says="52 characters are enough for a name", object=cron("n" * 52)),
    Case(says="53 characters are not", object=cron("n" * 53), refused="at most 52"),
    Case(says="policies are known", object=cron(concurrencyPolicy="Maybe"), refused="Allow, Forbid"),
)  # fmt: skip


def test_the_jobs_of_a_cronjob_are_warned_of() -> None:
    broken = cron(jobTemplate={"spec": {"tasks": []}})
    response = ask("/cronjobs/validate", broken, KNOWN)
    assert response.allowed
    assert "No task specified" in response.warnings[0]


@pytest.mark.parametrize("case", CRONJOBS, ids=case_id)
def test_rule(case: Case) -> None:
    assert_answers(ask("/cronjobs/validate", case.object, KNOWN), case.refused)
