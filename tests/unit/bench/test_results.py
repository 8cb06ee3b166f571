"""From moments to numbers, tables, files and pictures."""

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import cast

import pytest
from bench.cluster import chart, results, tables
from bench.cluster.__main__ import main
from bench.cluster.measure import summarise
from bench.cluster.results import Spread
from bench.cluster.setting import MeasureError
from bench.cluster.shapes import Shape
from bench.pod_times import PodTimes

from tests.unit.bench.runs import run
from vc.cluster import Cluster

SVG = "{http://www.w3.org/2000/svg}"


def seen(**stages: dict[str, float]) -> PodTimes:
    times = PodTimes(cast("Cluster", None), "n", jobs_prefix="")
    times.at |= stages
    times.jobs = {pod: pod.partition("-")[0] for at in stages.values() for pod in at}
    return times


def test_a_pod_waits_from_its_own_job_and_the_last_from_the_first() -> None:
    submitted = {"a": (100.0, 100.1), "b": (110.0, 110.3)}
    at = {"a-0": 101.0, "a-1": 102.0, "b-0": 111.0, "b-1": 114.0}
    found = summarise(Shape(2, 2), seen(created=at, bound=at), submitted, until="bound")
    assert found.stages["bound"] == Spread(p50=1.0, p99=4.0, last=14.0)
    assert found.accepted == Spread(p50=0.1, p99=0.3, last=10.3)
    assert found.pods_per_second == round(4 / 14.0, 2)
    assert found.complete
    assert "running" not in found.stages


def test_a_shape_that_was_not_over_has_no_rate() -> None:
    found = summarise(
        Shape(1, 2),
        seen(created={"a-0": 1.0}, bound={"a-0": 2.0}),
        {"a": (0.0, 0.1)},
        until="bound",
    )
    assert (found.pods_per_second, found.complete, found.reached["bound"]) == (0.0, False, 1)


def test_pods_of_nobody_do_not_count_and_no_job_at_all_is_an_error() -> None:
    times = seen(created={"x-0": 1.0})
    assert summarise(Shape(1, 1), times, {"a": (0.0, 0.1)}, until="bound").stages == {}
    with pytest.raises(MeasureError, match="no job was accepted"):
        summarise(Shape(1, 1), times, {}, until="bound")


def test_results_are_written_and_read_back(tmp_path: Path) -> None:
    whole = run("ours", Shape(1, 10), Shape(5, 2))
    results.write(whole, tmp_path / "deep" / "a.json")
    assert results.read(tmp_path / "deep" / "a.json") == whole


def test_a_file_that_holds_something_else_is_named(tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    with pytest.raises(results.ResultsError, match=r"x\.json: No such file"):
        results.read(file)
    file.write_text('{"label": 5}')
    with pytest.raises(results.ResultsError, match=r"x\.json: no results of a run"):
        results.read(file)


def test_tables_say_what_was_measured() -> None:
    whole = run("ours", Shape(1, 10))
    assert "1x10    0.50 s     1.00 / 2.00 / 2.50 s" in tables.times_table(whole)
    assert "4.0 s, 80 MB" in tables.processes_table(whole)
    requests = tables.requests_table(whole)
    assert "pyroclast/scheduler   create pods/binding   10" in requests
    assert "requests a pod        2.00" in requests
    assert tables.warnings(whole) == []


def test_what_spoils_a_comparison_is_told() -> None:
    (said,) = tables.warnings(run("ours", Shape(1, 10), complete=False))
    assert said == "1x10: not all pods were running: 9 created, 9 bound, 9 running"


def test_two_runs_are_compared_by_ratio_where_both_have_the_shape() -> None:
    one, other = run("a", Shape(1, 10), Shape(2, 2)), run("b", Shape(1, 10), factor=0.5)
    rows = tables.comparison_table(one, other).splitlines()
    assert rows[0].split() == ["SHAPE", "WHAT", "a", "b", "b", "/", "a"]
    words = [[cell for part in row.split("   ") if (cell := part.strip())] for row in rows]
    assert ["1x10", "bound p99 s", "4.00", "2.00", "0.50"] in words
    assert ["1x10", "pods/s", "1.33", "2.67", "2.00"] in words
    assert ["1x10", "CPU s", "4.00", "2.00", "0.50"] in words
    assert not any(row.startswith("2x2") for row in rows)


def test_a_run_that_was_not_over_is_not_compared() -> None:
    one, other = run("a", Shape(1, 10)), run("b", Shape(1, 10), complete=False)
    (_, row) = tables.comparison_table(one, other).splitlines()
    assert row.split("   ")[-1] == "-"
    assert "not all pods" in row


def test_two_runs_of_one_name_are_told_apart_by_their_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [tmp_path / "old.json", tmp_path / "new.json"]
    for file in files:
        results.write(run("ours", Shape(1, 10)), file)
    assert main(["--compare", *map(str, files), "--chart", str(tmp_path / "both.svg")]) == 0
    assert "ours new / ours old" in capsys.readouterr().out
    assert "ours old, ours new" in (tmp_path / "both.svg").read_text()


@pytest.mark.parametrize(
    ("longest", "step"), [(0, 1), (0.7, 0.1), (1.0, 0.2), (7.5, 1), (8, 1), (9, 2), (45, 10)]
)
def test_ticks_are_round_and_few(longest: float, step: float) -> None:
    assert chart.tick_step(longest) == pytest.approx(step)


def test_the_chart_has_a_bar_for_each_stage_of_each_run_within_its_bounds() -> None:
    runs = [run("one & <all>", Shape(1, 10), Shape(5, 2)), run("other", Shape(1, 10), factor=3)]
    root = ET.fromstring(chart.draw(runs))
    bars = [each for each in root.iter(f"{SVG}rect") if each.get("height") == str(chart.BAR)]
    assert len(bars) == 3 * 3
    widths = [float(bar.get("width", "")) for bar in bars]
    assert max(widths) <= chart.WIDTH - chart.LEFT - chart.RIGHT
    assert widths[2] * 3 == pytest.approx(widths[5], abs=0.3), "one scale for all"
    bottom = float(root.get("height", ""))
    assert all(float(text.get("y", "")) < bottom for text in root.iter(f"{SVG}text"))
    assert any("one & <all>" in (text.text or "") for text in root.iter(f"{SVG}text"))


def test_the_chart_follows_the_readers_theme() -> None:
    drawn = chart.draw([run("one", Shape(1, 1))])
    assert "prefers-color-scheme: dark" in drawn
    assert 'class="back"' in drawn


def test_a_run_in_which_nothing_was_reached_can_be_drawn() -> None:
    drawn = chart.draw([results.Run(label="none", nodes=1, until="bound", shapes=[])])
    assert ET.fromstring(drawn).tag == f"{SVG}svg"
