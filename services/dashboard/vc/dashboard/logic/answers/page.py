"""The page: jobs and queues as plain tables. Every external text is escaped."""

from html import escape
from typing import Final

from vc.dashboard.logic.answers.shapes import JobList, QueueTree
from vc.model.api.struct import ResourceList
from vc.model.values.human_amounts import human_quantities

STYLE: Final = """\
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem;
  color: #1d2330; background: #fcfcfd; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid #e2e5ec;
  vertical-align: top; }
th { color: #5b6478; font-weight: 600; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
.stale { background: #fff3cd; padding: .5rem .8rem; border-radius: .3rem; }
.quiet { color: #5b6478; }
a { color: #2456b8; }
@media (prefers-color-scheme: dark) {
  body { color: #e4e7ee; background: #14171f; } th, .quiet { color: #9aa4b8; }
  th, td { border-color: #2b3140; } .stale { background: #4a3c10; } a { color: #8fb4ff; }
}
"""


def page(jobs: JobList, queues: QueueTree) -> str:
    """The HTML of the whole page."""
    stale = jobs.stale or queues.stale
    warning = (
        f'<p class="stale" role="status">This may be old: {escape(stale)}</p>' if stale else ""
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Pyroclast</title>
<link rel="stylesheet" href="style.css">
</head>
<body>
<h1>Pyroclast</h1>
{warning}
<h2 id="jobs">Jobs <span class="quiet">({len(jobs.jobs)} of {jobs.total})</span></h2>
{_job_table(jobs)}
<h2 id="queues">Queues <span class="quiet">({len(queues.queues)} of {queues.total})</span></h2>
{_queue_table(queues)}
<p class="quiet">The same as data: <a href="api/v1/jobs">jobs</a>, <a href="api/v1/queues">queues</a>,
<a href="api/v1/sessions">sessions</a>, <a href="invariants">invariants</a>,
<a href="openapi.json">OpenAPI</a>.</p>
</body>
</html>
"""


def _job_table(jobs: JobList) -> str:
    if not jobs.jobs:
        return '<p class="quiet">No jobs yet.</p>'
    rows = [
        _cells(
            row.namespace,
            row.name,
            row.queue,
            row.phase or "Pending",
            row.min_available,
            row.running,
            row.succeeded,
            row.failed,
            row.reason,
        )
        for row in jobs.jobs
    ]
    heads = [
        "Namespace",
        "Name",
        "Queue",
        "Phase",
        "Gang",
        "Running",
        "Succeeded",
        "Failed",
        "Waiting-because",
    ]
    return _table([head.replace("-", " ") for head in heads], rows)


def _queue_table(queues: QueueTree) -> str:
    if not queues.queues:
        return '<p class="quiet">No queues yet.</p>'
    rows = [
        _cells(
            "\u2003" * row.depth + row.name,
            row.state,
            row.weight,
            _amounts(row.deserved),
            _amounts(row.capability),
            _amounts(row.used),
            row.pending,
            row.running,
        )
        for row in queues.queues
    ]
    heads = ["Name", "State", "Weight", "Deserved", "Capability", "Used", "Pending", "Running"]
    return _table(heads, rows)


def _amounts(amounts: ResourceList) -> str:
    return ", ".join(f"{name} {amount}" for name, amount in human_quantities(amounts).items())


def _cells(*values: str | int) -> str:
    return "".join(
        f'<td class="number">{value}</td>'
        if isinstance(value, int)
        else f"<td>{escape(value)}</td>"
        for value in values
    )


def _table(heads: list[str], rows: list[str]) -> str:
    head = "".join(f'<th scope="col">{escape(text)}</th>' for text in heads)
    body = "\n".join(f"<tr>{row}</tr>" for row in rows)
    return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>"
