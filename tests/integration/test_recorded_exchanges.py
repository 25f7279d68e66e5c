"""Real recorded exchanges with GitHub go through the judge of answers and the parsers.

They aren't shipped: `exchanges` in the folder of real data holds files in the form of PyGithub's
`tests/ReplayData`, eleven lines an exchange.
"""

import ast
import json
import os
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from miner.sources.githubapi.answers import Judgement, Verdict, judge
from miner.sources.githubapi.parse import nodes, parse_issue, parse_pull, parse_repo
from swequarry.records import RepoRef

FOLDER = Path(os.environ.get("SWEQUARRY_DATA", "absent")) / "exchanges"
NOW = datetime(2025, 1, 1, tzinfo=UTC)
REPO = RepoRef(owner="acme", name="widgets")
pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif(not FOLDER.is_dir(), reason="SWEQUARRY_DATA names no folder with exchanges"),
]


@dataclass
class Exchange:
    verb: str
    path: str
    status: int
    headers: dict[str, str]
    body: str

    @property
    def judged(self) -> Judgement:
        graphql = self.path.endswith("/graphql")
        return judge(self.status, self.headers, self.body, now=NOW, graphql=graphql)


def exchanges() -> Iterator[Exchange]:
    for file in sorted(FOLDER.rglob("*.txt")):
        lines = file.read_text("utf-8", "replace").split("\n")
        for at in range(0, len(lines) - 9, 11):
            _, verb, host, _, path, _, _, status, headers, body = lines[at : at + 10]
            if host == "api.github.com":
                found = {str(k).lower(): str(v) for k, v in ast.literal_eval(headers)}
                yield Exchange(verb, path, int(status), found, body)


def test_every_answer_is_judged_as_its_status_says() -> None:
    seen: Counter[tuple[int, Verdict]] = Counter()
    for one in exchanges():
        judged = one.judged
        seen[one.status, judged.verdict] += 1
        if one.status in {200, 201} and one.body and judged.verdict is Verdict.USE:
            assert judged.data == json.loads(one.body)
    assert seen
    allowed = {
        200: {Verdict.USE, Verdict.AGAIN, Verdict.REFUSED},
        304: {Verdict.UNCHANGED},
        401: {Verdict.BAD_TOKEN},
        403: {Verdict.REFUSED, Verdict.PRIMARY, Verdict.SECONDARY},
        404: {Verdict.GONE},
    }
    assert {key for key in seen if key[1] not in allowed.get(key[0], set(Verdict))} == set()


def test_every_repository_is_read() -> None:
    found = 0
    for one in exchanges():
        if one.verb != "GET" or one.status != 200 or not re.fullmatch(r"/repos/[^/?]+/[^/?]+", one.path):
            continue
        body = json.loads(one.body)
        facts = parse_repo(one.judged.data)
        assert facts.id > 0
        assert facts.full_name == body.get("full_name", "")  # recordings of 2012 have none
        assert facts.default_branch == (body.get("default_branch") or "main")
        assert facts.licence == (body.get("license") or {}).get("spdx_id")
        assert facts.is_private == body.get("private")
        found += 1
    assert found


def test_every_node_of_an_answer_to_a_query_is_read() -> None:
    found = 0
    for one in exchanges():
        if one.path.endswith("/graphql") and one.judged.verdict is Verdict.USE:
            for node in below(one.judged.data["data"]):
                parse_pull(1, node, REPO)
                parse_issue(1, node, REPO)
                for name in node:
                    nodes(node, name)
                found += 1
    assert found


def below(value: object) -> Iterator[dict]:
    if isinstance(value, dict):
        yield value
        for one in value.values():
            yield from below(one)
    elif isinstance(value, list):
        for one in value:
            yield from below(one)
