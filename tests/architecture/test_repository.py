"""What must never be in the repository."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULE_LINES_MAX = 400
FORBIDDEN = re.compile(r"\b(TODO|FIXME|XXX)\b|/work/|/root/(?!\.ssh)")
DUMPING_GROUNDS = {"utils", "helpers", "common", "misc", "base", "manager"}


def tracked() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode:
        pytest.skip("not a git checkout: what is tracked cannot be told")
    paths = [ROOT / name for name in listed.stdout.split("\0") if name]
    return [path for path in paths if not path.is_dir()]  # the chart's definitions are a link


def python_files() -> list[Path]:
    return [path for path in tracked() if path.suffix == ".py" and path.exists()]


def test_no_unfinished_work_and_no_machine_paths() -> None:
    hits = []
    for path in tracked():
        if path == Path(__file__) or not path.exists() or path.suffix in {".bin", ".png"}:
            continue
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            if FORBIDDEN.search(line):
                hits.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()[:80]}")
    assert hits == []


def test_modules_are_small() -> None:
    large = {
        str(path.relative_to(ROOT)): lines
        for path in python_files()
        if (lines := len(path.read_text().splitlines())) > MODULE_LINES_MAX
    }
    assert large == {}


def test_no_dumping_grounds() -> None:
    names = {path.stem for path in python_files()} | {p.parent.name for p in python_files()}
    assert names & DUMPING_GROUNDS == set()


def test_links_in_documents_lead_somewhere() -> None:
    broken = []
    for path in tracked():
        if path.suffix != ".md" or not path.exists():
            continue
        targets = re.findall(r"\]\((?!https?:|#|mailto:)([^)#]+)", path.read_text())
        broken += [
            f"{path.relative_to(ROOT)} → {target}"
            for target in targets
            if not (path.parent / target).exists()
        ]
    assert broken == []


def test_decisions_are_listed() -> None:
    index = (ROOT / "docs/adr/README.md").read_text()
    unlisted = [p.name for p in (ROOT / "docs/adr").glob("0*.md") if p.name not in index]
    assert unlisted == []


def test_the_list_of_decisions_has_the_titles_of_their_pages() -> None:
    index = (ROOT / "docs/adr/README.md").read_text()
    rows = {
        path.name: path.read_text().split("\n", 1)[0].removeprefix(f"# {path.name[:4]}: ")
        for path in (ROOT / "docs/adr").glob("0*.md")
    }
    wrong = [n for n, title in rows.items() if f"| [{n[:4]}]({n}) | {title} |" not in index]
    assert wrong == []
