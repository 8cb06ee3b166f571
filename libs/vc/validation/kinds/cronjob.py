"""The CronJob: schedule, time zone, name. Problems of its job are warnings.

Upstream checks only the schedule, so an invalid job template is not refused here either. The
problems are reported at once instead of at the first run.
"""

from typing import Final

from vc.model.api.job import CronJob
from vc.validation.job.create import name_of
from vc.validation.kinds.cron_schedule import schedule_problem
from vc.validation.kinds.jobtemplate import warn_of_template
from vc.validation.result import ValidationResult
from vc.validation.world import World

NAME_LENGTH_MAX: Final = 52
"""Limit of the name, because jobs are named after it with eleven characters of time appended."""

CONCURRENCY_POLICIES: Final = ("Allow", "Forbid", "Replace")


def check_cronjob(found: ValidationResult, cron: CronJob, *, world: World) -> None:
    """Check a CronJob that is created or changed."""
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


def _check_schedule(found: ValidationResult, cron: CronJob) -> None:
    schedule = cron.spec.schedule
    if not schedule.strip():
        found.refuse("spec.schedule", "is required; write one like '*/5 * * * *'", value=schedule)
    # A time zone inside the schedule would contradict spec.timeZone.
    elif "TZ" in schedule:
        found.refuse("spec.schedule", "must not set TZ; use spec.timeZone instead", value=schedule)
    else:
        problem = schedule_problem(schedule)
        if problem:
            found.refuse("spec.schedule", problem, value=schedule)


def _check_time_zone(found: ValidationResult, cron: CronJob, *, world: World) -> None:
    zone, known = cron.spec.time_zone, world.settings.time_zones
    if zone is None:
        return
    if not zone.strip() or zone.lower() == "local":
        found.refuse(
            "spec.timeZone", "must name a time zone like Europe/Berlin, or be left out", value=zone
        )
    # An empty set means that this system has no time zone data.
    elif known and zone not in known:
        found.refuse("spec.timeZone", "is no time zone; write one like Europe/Berlin", value=zone)
