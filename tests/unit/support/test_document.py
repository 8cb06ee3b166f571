"""docs/support-matrix.md is what the table says."""

from tests.unit.support.schemas import ROOT
from vc.model.support import ENTRIES
from vc.model.support.document import document

PAGE = ROOT / "docs" / "support-matrix.md"


def test_the_page_is_written_from_the_table() -> None:
    assert PAGE.read_text() == document(), "python -m vc.model.support > docs/support-matrix.md"


def test_every_entry_is_on_the_page_and_the_readme_leads_there() -> None:
    page = PAGE.read_text()
    for entry in ENTRIES:
        assert entry.path in page
        assert all(case.text in page for case in entry.cases)
    assert "docs/support-matrix.md" in (ROOT / "README.md").read_text()
