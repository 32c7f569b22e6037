"""The tables of engines and models in the guides are those of the declarations."""

import pytest
from support.generated.engine_tables import ROOT, TABLES, page_with_tables


@pytest.mark.parametrize("page", TABLES)
def test_page_has_the_tables_of_the_declarations(page: str) -> None:
    """To write them: `PYTHONPATH=tests python tests/support/generated/engine_tables.py`."""
    assert (ROOT / page).read_text(encoding="utf-8") == page_with_tables(page)
