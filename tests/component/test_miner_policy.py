"""Licences and benchmarks decide about candidates when they are mined."""

import json

import pytest
from test_miner_mine import BASE, Quarry, quarry  # noqa: F401 - a fixture

from miner.mine import mine_units, unit_fingerprint
from miner.policy import check_policy, is_allowed, read_policy
from swequarry.config import CurateSettings, parse_settings
from swequarry.errors import ConfigError, InputError
from swequarry.outcome import Accepted, RejectCode
from swequarry.records import Licence


@pytest.mark.parametrize(
    "spdx, allowed, holds",
    [
        ("MIT", "mit", True),
        ("GPL-3.0-only", "mit", False),
        ("MIT OR GPL-3.0-only", "mit", True),
        ("MIT AND GPL-3.0-only", "mit", False),
        ("(MIT OR GPL-3.0-only) AND Apache-2.0", "mit apache-2.0", True),
        ("GPL-2.0-only WITH Classpath-exception-2.0", "gpl-2.0-only", False),
        (None, "mit", False),
    ],
)
def test_a_licence_is_allowed_by_all_that_apply_and_one_of_a_choice(spdx, allowed, holds):
    assert is_allowed(Licence(spdx=spdx), frozenset(allowed.split())) is holds
    assert not is_allowed(None, frozenset({"mit"}))


def test_permissive_stands_for_licences_that_ask_for_notices():
    allowed = read_policy(CurateSettings(licences=("permissive", "LGPL-3.0-only"))).allowed
    assert {"mit", "bsd-3-clause", "apache-2.0", "lgpl-3.0-only"} <= allowed
    assert not any(name.startswith("gpl") for name in allowed)


def test_what_can_be_no_policy_is_said_before_mining(tmp_path):
    with pytest.raises(ConfigError, match="'MITT' is no SPDX id"):
        check_policy(CurateSettings(licences=("MITT",)))
    missing = parse_settings({"curate": {"decontamination": {"against": [str(tmp_path / "no.jsonl")]}}})
    with pytest.raises(InputError, match=r"no\.jsonl"):
        check_policy(missing.curate)


LONG = b"".join(b"    amounts[%d] = rounded(amounts[%d], places + %d)\n" % (n, n, n) for n in range(6))
MERGED = {b"src/a.py": b"def a():\n" + LONG, b"tests/test_a.py": b"def test_a():\n    assert 2\n"}


def benchmark(quarry, tmp_path, **fields):  # noqa: F811
    """Merge a pull request, and write a benchmark that has its change under another name."""
    quarry.add("Round amounts (#1)", BASE | MERGED)
    gold = quarry.patches(quarry.candidate())[1].decode()
    row = {"instance_id": "else__where-9", "repo": "else/where", "patch": gold, "problem_statement": "Words."}
    path = tmp_path / "bench.jsonl"
    path.write_text(json.dumps(row | fields) + "\n")
    return path


def curate(path, **more):
    return parse_settings({"curate": {"decontamination": {"against": [str(path)], **more}}}).curate


def test_a_pull_request_of_a_benchmark_is_rejected_with_item_and_span(quarry: Quarry, tmp_path):  # noqa: F811
    path = benchmark(quarry, tmp_path)
    outcome = quarry.outcomes(curate(path))["acme__widgets-1"]
    assert outcome.code is RejectCode.CONTAMINATED
    assert "the same change as else__where-9 (bench)" in outcome.message
    assert any("rounded(amounts" in line for line in outcome.evidence)


def test_a_repository_of_a_benchmark_is_told_with_the_candidate_or_removed(quarry: Quarry, tmp_path):  # noqa: F811
    path = benchmark(quarry, tmp_path, repo="Acme/Widgets", patch="")
    kept = quarry.outcomes(curate(path))["acme__widgets-1"]
    assert isinstance(kept, Accepted)
    assert kept.value.contamination == ("is of the repository of else__where-9 (bench)",)
    dropped = quarry.outcomes(curate(path, repository="remove"))["acme__widgets-1"]
    assert dropped.code is RejectCode.CONTAMINATED


def test_another_benchmark_is_another_input(quarry: Quarry, tmp_path):  # noqa: F811
    path = benchmark(quarry, tmp_path)
    settings = quarry.settings(curate(path))
    unit = mine_units(settings)[0]
    before = unit_fingerprint(unit, settings, quarry.locator)
    path.write_text(path.read_text().replace("Words", "Other words"))
    assert unit_fingerprint(unit, settings, quarry.locator) != before


def test_a_licence_that_isnt_allowed_rejects_with_what_it_rests_on(quarry: Quarry):  # noqa: F811
    quarry.add("Round amounts (#1)", BASE | MERGED)
    outcome = quarry.outcomes(CurateSettings(licences=("permissive",)))["acme__widgets-1"]
    assert (outcome.code, outcome.message) == (RejectCode.LICENCE, "the licence can't be told")
