"""`why` tells each link of an item in a sentence, whatever became of it later."""

from dataclasses import replace

from test_miner_variants import FIX, candidate, patch

from swequarry.cli.inspect_commands import _prose
from swequarry.config import parse_settings
from swequarry.ledger.keys import StoredOutcome
from swequarry.outcome import Accepted, RejectCode, Rejected
from swequarry.pipeline.reasons import explain
from swequarry.pipeline.stage import StageItem, run_stage
from swequarry.pipeline.workspace import Workspace
from swequarry.records import ContentHash, IssueLink, LinkPlace, sha256_hex


class Mined:
    """A stage that accepts one candidate."""

    name, version, settings_hash = "mine", 1, ContentHash("0" * 64)

    def __init__(self, outcome: StoredOutcome) -> None:
        self.outcome = outcome

    def run(self, _item, _context):
        return [self.outcome]


def test_why_quotes_what_each_link_rests_on(tmp_path):
    links = (
        IssueLink(number=200, place=LinkPlace.BODY, quote="Fixes #200"),
        IssueLink(number=201, place=LinkPlace.TITLE, quote="does not fix #201", ambiguous="negated"),
    )
    item, made = candidate(7, patch(FIX))
    stored = StoredOutcome(item=item, outcome=Accepted(value=replace(made, links=links).to_json()))
    settings = parse_settings({"workspace": str(tmp_path / "w")})
    workspace = Workspace.open(settings)
    number = workspace.ledger.save_run(settings.model_dump(mode="json"))
    subject = StageItem(key="git:acme/widgets", input_hash=ContentHash(sha256_hex(b"x")), value=None)
    run_stage(Mined(stored), subject, workspace.ledger, workspace.blobs, max_attempts=1)
    workspace.ledger.save_selection(number, [item])
    ended = Rejected(code=RejectCode.VARIANT, message="acme__widgets-6 is kept for it: why")
    workspace.ledger.settle(number, "mine", StoredOutcome(item=item, outcome=ended))
    told = "\n".join(_prose(explain(workspace, item)))
    assert 'acme/widgets#200 is resolved (stated): the description: "Fixes #200"' in told
    assert "acme/widgets#201 isn't taken as resolved, for the sentence says that it does not" in told
    assert "rejected at mine as variant: acme__widgets-6 is kept for it: why" in told
