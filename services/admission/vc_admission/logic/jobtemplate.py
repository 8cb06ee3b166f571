"""The JobTemplate: problems of its job are warnings, here and for the template of a CronJob.

Upstream looks at no template, so one that no job could be made of is not refused here either; its problems
are reported at once instead of with the first job.
"""

import msgspec

from vc_admission.logic.findings import Findings
from vc_admission.logic.job.create import check_job_spec, name_of
from vc_admission.logic.job.defaults import default_job
from vc_admission.logic.world import World
from vc_model.graft import to_json
from vc_model.job import Job, JobSpec, JobTemplate


def check_jobtemplate(found: Findings, template: JobTemplate, *, world: World) -> None:
    """A JobTemplate that is created or changed."""
    name = name_of(template.metadata)
    warn_of_template(found, "", template.spec, job_name=name, world=world)


def warn_of_template(
    found: Findings, prefix: str, spec: JobSpec, *, job_name: str, world: World
) -> None:
    """What would have its jobs refused; `prefix` leads to the job's spec."""
    job = Job(spec=spec)
    defaulted = default_job(to_json(job), job, world=world)
    inner = Findings()
    check_job_spec(inner, msgspec.convert(defaulted, Job).spec, job_name=job_name, world=world)
    for problem in inner.problems:
        found.warn(f"{prefix}{problem.path}", f"its jobs will be refused: {problem.message}")
