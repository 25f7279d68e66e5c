"""The pages about rejections are what the code says."""

import re
from pathlib import Path

from miner.evidence import REASONS
from swequarry.config import CurateSettings
from swequarry.outcome import REJECT_MEANING, RejectCode
from swequarry.report.reject_codes import REJECT_STAGES, page_of_codes

DOCS = Path(__file__).parents[2] / "docs"


def test_page_of_codes_is_the_generated_one():
    assert (DOCS / "reject-codes.md").read_text("utf-8") == page_of_codes(), (
        "run `python -m swequarry.report.reject_codes > docs/reject-codes.md`"
    )


def test_every_code_has_a_meaning_a_stage_and_a_place_on_the_page():
    assert (
        set(REJECT_MEANING) == set(RejectCode) == {code for codes in REJECT_STAGES.values() for code in codes}
    )
    assert sum(map(len, REJECT_STAGES.values())) == len(RejectCode)
    page = (DOCS / "reject-codes.md").read_text("utf-8")
    assert all(f"| `{code.value}` | {REJECT_MEANING[code]} |" in page for code in RejectCode)


def test_curation_page_names_every_setting_and_every_reason_of_a_link():
    page = (DOCS / "curation.md").read_text("utf-8")
    named = set(re.findall(r"`([a-z_.]+)`", page))
    assert set(CurateSettings.model_fields) - {"policy"} <= {name.partition(".")[0] for name in named}
    assert set(REASONS) <= named
