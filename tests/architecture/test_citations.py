"""Every section, decision and document that code or documents cite exists in this repository."""

from pathlib import Path
from typing import Final, NamedTuple

import pytest

from tests.architecture import citations
from tests.architecture.citations import Cited
from tests.architecture.test_repository import ROOT, tracked

READ: Final = frozenset({".py", ".md", ".toml", ".yaml", ".yml", ".sh", ".tpl", ".txt", ""})
FOLDERS_UNREAD: Final = ("tests/architecture/", "deploy/crds/")
"""This test names wrong citations, and the definitions are generated from upstream's schemas."""
NAMING_MODULES: Final = ("ARCHITECTURE.md", "CONTRIBUTING.md", "docs/adr/", "libs/vc/", "services/")
"""Documents, or folders of documents, that cite modules in backticks."""
CODE_FOLDERS: Final = ("libs/vc/", "services/", "tests/")
ROOT_MODULES: Final = frozenset({"hatch_build.py"})


class Text(NamedTuple):
    """A tracked file that may cite."""

    path: Path
    content: str

    @property
    def name(self) -> str:
        return str(self.path.relative_to(ROOT))


def texts() -> list[Text]:
    found = []
    for path in tracked():
        name = str(path.relative_to(ROOT))
        if path.suffix not in READ or not path.is_file() or name.startswith(FOLDERS_UNREAD):
            continue
        found.append(Text(path, path.read_text(errors="replace")))
    return found


def numbers() -> dict[str, set[str]]:
    """Sections by document."""
    documents = ("docs/protocol.md", "docs/behaviour.md")
    return {name: citations.sections((ROOT / name).read_text()) for name in documents}


def decisions() -> set[str]:
    return {path.name[:4] for path in (ROOT / "docs/adr").glob("0*.md")}


def test_cited_sections_exist() -> None:
    there = numbers()
    wrong = [
        f"{text.name}: {cited.document} {cited.place}"
        for text in texts()
        for cited in citations.cited_sections(text.content)
        if cited.place not in there[cited.document]
    ]
    assert wrong == []


def test_cited_decisions_exist() -> None:
    there = decisions()
    wrong = [
        f"{text.name}: ADR {number}"
        for text in texts()
        for number in citations.cited_decisions(text.content)
        if number not in there
    ]
    assert wrong == []


def test_no_document_outside_the_repository_is_cited() -> None:
    wrong = [
        f"{text.name}: {cited.document}"
        for text in texts()
        for cited in citations.cited_files(text.content)
        if citations.resolve(cited.document, cited_in=text.path, root=ROOT) is None
    ]
    assert wrong == []


def test_links_name_anchors_that_exist() -> None:
    wrong = []
    for text in texts():
        for cited in citations.cited_files(text.content):
            page = citations.resolve(cited.document, cited_in=text.path, root=ROOT)
            if cited.place and page and cited.place not in citations.anchors(page.read_text()):
                wrong.append(f"{text.name}: {cited.document}#{cited.place}")
    assert wrong == []


def documents_that_name_modules() -> list[Text]:
    return [
        text
        for text in texts()
        if text.path.suffix == ".md" and text.name.startswith(NAMING_MODULES)
    ]


def test_cited_modules_exist() -> None:
    names = [str(path.relative_to(ROOT)) for path in tracked() if path.suffix == ".py"]
    there = [name for name in names if name.startswith(CODE_FOLDERS) or name in ROOT_MODULES]
    wrong = [
        f"{text.name}: {cited}"
        for text in documents_that_name_modules()
        for cited in citations.cited_modules(text.content)
        if not citations.is_module(cited, there)
    ]
    assert wrong == []


def test_cited_import_names_exist() -> None:
    roots = [ROOT / "libs", *sorted((ROOT / "services").iterdir())]
    wrong = [
        f"{text.name}: {cited}"
        for text in documents_that_name_modules()
        for cited in citations.cited_imports(text.content)
        if not citations.is_importable(cited, roots)
    ]
    assert wrong == []


def test_citations_say_in_which_file_the_section_is() -> None:
    wrong = [f"{text.name}: {old}" for text in texts() for old in citations.old_forms(text.content)]
    assert wrong == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("(docs/protocol.md 6)", ["6"], id="one section"),
        pytest.param("docs/protocol.md 6, 7, 11).", ["6", "7", "11"], id="a list"),
        pytest.param("docs/behaviour.md 5.3 and 5.7", ["5.3", "5.7"], id="two of a chapter"),
        pytest.param("docs/protocol.md 5 to 7", ["5", "6", "7", "5", "7"], id="a range"),
        pytest.param("see docs/behaviour.md\n    5.1 for it", ["5.1"], id="broken over lines"),
        pytest.param("# docs/protocol.md\n# 13", ["13"], id="broken in a comment"),
        pytest.param("docs/protocol.md says so", [], id="the document without a section"),
    ],
)
def test_sections_are_found(text: str, expected: list[str]) -> None:
    assert [cited.place for cited in citations.cited_sections(text)] == expected


def test_a_section_that_is_not_there_is_noticed() -> None:
    there = citations.sections("# Page\n## 1. Facts\n### 1.2 Records\n")
    assert there == {"1", "1.2"}
    cited = citations.cited_sections("docs/protocol.md 1 and docs/protocol.md 99")
    assert [c.place for c in cited if c.place not in there] == ["99"]


def test_a_decision_that_is_not_there_is_noticed() -> None:
    text = "ADR 0040, docs/adr/0033, 0034 and [ADR 9999](docs/adr/9999-none.md)"
    assert list(citations.cited_decisions(text)) == ["0040", "0033", "0034", "9999", "9999"]
    assert "9999" not in decisions()


@pytest.mark.parametrize(
    "document",
    ["docs/absent.md", "../elsewhere/design.md", "design.md", "../../README.md", "spec/absent.md"],
)
def test_a_document_that_is_not_there_is_noticed(document: str) -> None:
    cited = list(citations.cited_files(f"as `{document}` says"))
    assert cited == [Cited(document, "")]
    assert citations.resolve(document, cited_in=ROOT / "pyproject.toml", root=ROOT) is None


def test_an_anchor_that_is_not_there_is_noticed() -> None:
    there = citations.anchors('# A *page*\n<a id="protocol-6"></a>\n### 6. Barrier\n')
    assert there == {"a-page", "protocol-6", "6-barrier"}
    assert list(citations.cited_files("[x](docs/protocol.md#nowhere)")) == [
        Cited("docs/protocol.md", "nowhere")
    ]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("the barrier (protocol 6)", ["protocol 6"], id="no file"),
        pytest.param("behaviour.md 5.7 says", ["behaviour.md 5.7"], id="no folder"),
        pytest.param("see section 7 of the design", ["section 7 of the design"], id="a sentence"),
        pytest.param("docs/protocol.md 6 and docs/behaviour.md 5.7", [], id="as it should be"),
        pytest.param("protocol version 2", [], id="not a citation"),
    ],
)
def test_old_forms_are_noticed(text: str, found: list[str]) -> None:
    assert citations.old_forms(text) == found


def test_a_module_that_is_not_there_is_noticed() -> None:
    text = "`cache/pods.py`, `tests/unit/x.py::test_y`, `services/<name>/a.py` and gone.py without backticks"
    assert citations.cited_modules(text) == ["cache/pods.py", "tests/unit/x.py"]
    assert citations.is_module("cache/pods.py", ["libs/vc/scheduling/cache/pods.py"])
    assert not citations.is_module("ache/pods.py", ["libs/vc/scheduling/cache/pods.py"])
    assert not citations.is_module("cache/let_in.py", ["libs/vc/scheduling/cache/pods.py"])


@pytest.mark.parametrize(
    ("cited", "expected"),
    [
        pytest.param("vc.clock", True, id="a package"),
        pytest.param("vc.clock.virtual", True, id="a module"),
        pytest.param("vc.clock.VirtualLoop", True, id="a name of a package"),
        pytest.param("vc.clock.virtual.VirtualLoop", True, id="a name of a module"),
        pytest.param("vc.clock.virtual.Absent", False, id="no such name"),
        pytest.param("vc.absent", False, id="no such package"),
    ],
)
def test_import_names_are_looked_up(cited: str, expected: bool) -> None:
    assert citations.cited_imports(f"as `{cited}` does") == [cited]
    assert citations.is_importable(cited, [ROOT / "libs"]) is expected
