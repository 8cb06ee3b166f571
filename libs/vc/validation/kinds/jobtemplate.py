"""The JobTemplate: problems of its job are warnings, here and for the template of a CronJob.

Upstream checks no templates, so an invalid one is not refused here either. Its problems are
reported at once instead of with the first job.
"""

import msgspec

from vc.model.api.graft import to_json
from vc.model.api.job import Job, JobSpec, JobTemplate
from vc.validation.job.create import check_job_spec, name_of
from vc.validation.job.defaults import default_job
from vc.validation.result import ValidationResult
from vc.validation.world import World


def check_jobtemplate(found: ValidationResult, template: JobTemplate, *, world: World) -> None:
    """Check a JobTemplate that is created or changed."""
    name = name_of(template.metadata)
    warn_of_template(found, "", template.spec, job_name=name, world=world)


def warn_of_template(
    found: ValidationResult, prefix: str, spec: JobSpec, *, job_name: str, world: World
) -> None:
    """Warn about what would cause jobs to be refused. `prefix` is
    the path to the spec of the job."""
    job = Job(spec=spec)
    # Jobs are validated with defaults, so the template must get them too.
    defaulted = default_job(to_json(job), job, world=world)
    inner = ValidationResult()
    check_job_spec(inner, msgspec.convert(defaulted, Job).spec, job_name=job_name, world=world)
    for problem in inner.problems:
        found.warn(f"{prefix}{problem.path}", f"its jobs will be refused: {problem.message}")
