"""`vcctl queue delete --force`: the permission is written, used, and taken back when it did not help."""

import json

import pytest

from tests.unit.vcctl.server import Answer, Asked, answer, refusal, serving
from vc.cli.vcctl.main import main

QUEUE = "/apis/scheduling.volcano.sh/v1beta1/queues/team"


def asked_of(answers: dict[str, Answer], *words: str) -> tuple[int, list[tuple[str, object]]]:
    def say(request: Asked) -> Answer:
        return answers.get(request.method, answer({}))

    with serving(say) as (url, asked), pytest.raises(SystemExit) as ended:
        main(["queue", "delete", *words, "-s", url])
    code = int(ended.value.code or 0)
    kept = [each for each in asked if each.path == QUEUE]
    return code, [(each.method, _annotations(each)) for each in kept]


def _annotations(request: Asked) -> object:
    body = json.loads(request.body or b"{}")
    return body.get("metadata", {}).get("annotations")


def test_force_writes_the_permission_before_it_deletes() -> None:
    code, asked = asked_of({}, "team", "--force")
    assert code == 0
    assert asked == [("PATCH", {"volcano.sh/allow-delete": "true"}), ("DELETE", None)]


def test_without_force_nothing_is_written() -> None:
    code, asked = asked_of({}, "team")
    assert code == 0
    assert asked == [("DELETE", None)]


def test_a_queue_that_is_kept_does_not_keep_the_permission(
    capsys: pytest.CaptureFixture[str],
) -> None:
    kept = refusal(403, "Forbidden", "has 1 child queues; delete first: one")
    code, asked = asked_of({"DELETE": kept}, "team", "--force")
    assert code != 0
    assert "delete first: one" in capsys.readouterr().err
    assert asked[-1] == ("PATCH", {"volcano.sh/allow-delete": None})
