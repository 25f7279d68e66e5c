import re
from pathlib import Path

from swequarry.config import WritingSettings
from testwriter.proof.codes import MEANINGS, Refusal

PAGE = (Path(__file__).parents[2] / "docs" / "testwriter.md").read_text(encoding="utf-8")


def test_page_has_every_code_with_its_meaning_and_no_other():
    rows = dict(
        re.findall(
            r"^\| `(\w+)` \| (.*) \|$", PAGE.partition("| code |")[2].partition("\n\n")[0], re.MULTILINE
        )
    )
    assert rows == {code.value: meaning for code, meaning in MEANINGS.items()}
    assert set(rows) == {code.value for code in Refusal}


def test_page_has_every_setting_with_its_default():
    said = dict(re.findall(r"^\| `testwriter\.(\w+)` \| (\w+) \|", PAGE, re.MULTILINE))
    known = {name: str(field.default).lower() for name, field in WritingSettings.model_fields.items()}
    assert said == known
