"""The log messages that bench_overload counts are messages that the services log."""

from pathlib import Path

from bench.bench_overload import LINES

ROOT = Path(__file__).parents[3]


def logged_texts() -> str:
    """The source of all libraries and services."""
    folders = (ROOT / "libs", ROOT / "services")
    return "\n".join(path.read_text() for folder in folders for path in folder.rglob("*.py"))


def test_each_column_counts_a_message_of_this_release() -> None:
    source = logged_texts()
    assert {column for column, messages in LINES.items() if messages[0] not in source} == {
        "binds_dropped"
    }
    # The message of dropped binds is composed of a format string and the error of an outcome.
    beginning, error = LINES["binds_dropped"][0].split("=")
    assert f'"{beginning}=%s' in source
    assert f'error="{error}"' in source


def test_a_lost_leadership_is_counted() -> None:
    assert "leadership lost lease=" in LINES["leases_ran_out"]
    assert "leadership lost lease=%s" in logged_texts()
