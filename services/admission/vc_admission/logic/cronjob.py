"""The CronJob: schedule, time zone, name; problems of its job are warnings.

Upstream looks at the schedule only, so a template that no job could be made of is not refused here
either; it is told at once instead of at the first tick.
"""

from typing import Final

from vc_admission.logic.cron_schedule import schedule_problem
from vc_admission.logic.findings import Findings
from vc_admission.logic.job.create import name_of
from vc_admission.logic.jobtemplate import warn_of_template
from vc_admission.logic.world import World
from vc_model.job import CronJob

NAME_LENGTH_MAX: Final = 52
"""Jobs are named after it, with eleven characters of time appended."""

CONCURRENCY_POLICIES: Final = ("Allow", "Forbid", "Replace")


def check_cronjob(found: Findings, cron: CronJob, *, world: World) -> None:
    """A CronJob that is created or changed."""
    name = name_of(cron.metadata)
    if len(name) > NAME_LENGTH_MAX:
        found.refuse(
            "metadata.name",
            f"has {len(name)} characters; at most {NAME_LENGTH_MAX}, since jobs are named after it",
            value=name,
        )
    _check_schedule(found, cron)
    _check_time_zone(found, cron, world=world)
    policy = cron.spec.concurrency_policy
    if policy not in CONCURRENCY_POLICIES:
        allowed = ", ".join(CONCURRENCY_POLICIES)
        found.refuse("spec.concurrencyPolicy", f"must be one of {allowed}", value=policy)
    for field, value in (
        ("startingDeadlineSeconds", cron.spec.starting_deadline_seconds),
        ("successfulJobsHistoryLimit", cron.spec.successful_jobs_history_limit),
        ("failedJobsHistoryLimit", cron.spec.failed_jobs_history_limit),
    ):
        if value is not None and value < 0:
            found.refuse(f"spec.{field}", "must be 0 or more", value=value)
    warn_of_template(
        found,
        "spec.jobTemplate.",
        cron.spec.job_template.spec,
        job_name=name,
        world=world,
    )


def _check_schedule(found: Findings, cron: CronJob) -> None:
    schedule = cron.spec.schedule
    if not schedule.strip():
        found.refuse("spec.schedule", "is required; write one like '*/5 * * * *'", value=schedule)
    elif "TZ" in schedule:
        found.refuse("spec.schedule", "must not set TZ; use spec.timeZone instead", value=schedule)
    else:
        problem = schedule_problem(schedule)
        if problem:
            found.refuse("spec.schedule", problem, value=schedule)


def _check_time_zone(found: Findings, cron: CronJob, *, world: World) -> None:
    zone, known = cron.spec.time_zone, world.settings.time_zones
    if zone is None:
        return
    if not zone.strip() or zone.lower() == "local":
        found.refuse(
            "spec.timeZone", "must name a time zone like Europe/Berlin, or be left out", value=zone
        )
    elif known and zone not in known:
        found.refuse("spec.timeZone", "is no time zone; write one like Europe/Berlin", value=zone)
