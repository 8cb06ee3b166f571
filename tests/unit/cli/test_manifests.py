"""Reading manifests: what is wrong, where, and what to do."""

from pathlib import Path

import msgspec
import pytest

from vc.cli.manifests import ManifestError, read_manifests

GOOD = "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n"


class Case(msgspec.Struct, frozen=True):
    """A text and what the error must say."""

    id: str
    text: str
    says: str


CASES = [
    Case("not YAML at all", "a: [", "not YAML"),
    Case("a list instead of an object", "- 1\n", "expected an object, found list"),
    Case("no apiVersion", "kind: Job\nmetadata: {name: a}\n", "apiVersion is missing"),
    Case("no kind", "apiVersion: v1\nmetadata: {name: a}\n", "kind is missing"),
    Case("no name", "apiVersion: v1\nkind: Job\n", "metadata.name is missing"),
    Case("the second document is wrong", GOOD + "---\n3\n", "document 2"),
    Case("a Python object", "!!python/object/apply:os.getcwd []\n", "not YAML"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_bad_manifest_is_an_error_of_one_line(case: Case, tmp_path: Path) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text(case.text)
    with pytest.raises(ManifestError) as caught:
        read_manifests([file])
    assert case.says in str(caught.value)
    assert str(file) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_folder_means_its_files_in_order(tmp_path: Path) -> None:
    for name in ("b", "a"):
        (tmp_path / f"{name}.yaml").write_text(GOOD.replace("name: a", f"name: {name}") + "---\n")
    names = [document["metadata"]["name"] for document in read_manifests([tmp_path])]
    assert names == ["a", "b"]


def test_what_is_not_there_or_too_large_is_said(tmp_path: Path) -> None:
    with pytest.raises(ManifestError, match="No such file"):
        read_manifests([tmp_path / "none.yaml"])
    with pytest.raises(ManifestError, match=r"no \*\.yaml files"):
        read_manifests([tmp_path])
    large = tmp_path / "large.yaml"
    large.write_text("a" * 4_000_000)
    with pytest.raises(ManifestError, match="larger than"):
        read_manifests([large])


def test_the_examples_can_be_read() -> None:
    documents = read_manifests([Path(__file__).parents[3] / "examples"])
    assert sum(document["kind"] == "Job" for document in documents) >= 6
