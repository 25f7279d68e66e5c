import pytest
from typer.testing import CliRunner

from swequarry.cli import run_commands
from swequarry.cli.app import app
from swequarry.cli.settings import parse_assignments, with_changes
from swequarry.config import Settings, load_settings, meaning_of, parse_settings
from swequarry.errors import ConfigError


def test_unknown_setting_isnt_ignored_and_names_the_nearest():
    with pytest.raises(ConfigError, match=r"verify\.run`.*did you mean `runs`"):
        parse_settings({"verify": {"run": 5}})


def test_unknown_setting_without_a_near_name_lists_the_known():
    with pytest.raises(ConfigError, match=r"known here: .*workspace"):
        parse_settings({"zzz": 1})


@pytest.mark.parametrize("data", [["a"], "text", 3])
def test_settings_that_are_no_mapping_arent_taken_for_empty(data):
    with pytest.raises(ConfigError, match="mapping"):
        parse_settings(data)


def test_wrong_value_names_its_setting():
    with pytest.raises(ConfigError, match=r"verify\.runs"):
        parse_settings({"verify": {"runs": 0}})


def test_missing_or_broken_file_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"nowhere\.yaml"):
        load_settings(tmp_path / "nowhere.yaml")
    broken = tmp_path / "broken.yaml"
    broken.write_text("a: [")
    with pytest.raises(ConfigError, match=r"broken\.yaml isn't YAML"):
        load_settings(broken)


def test_empty_file_means_the_defaults(tmp_path):
    (tmp_path / "empty.yaml").write_text("")
    assert load_settings(tmp_path / "empty.yaml") == Settings()


def test_every_shipped_configuration_is_valid():
    from pathlib import Path

    found = sorted((Path(__file__).parents[2] / "configs").glob("*.yaml"))
    assert found
    for path in found:
        load_settings(path)


def test_assignments_are_typed_like_yaml():
    assert parse_assignments(["verify.runs=5", "source.pulls=[1, 2]", "a=true"]) == {
        "verify.runs": 5,
        "source.pulls": [1, 2],
        "a": True,
    }
    with pytest.raises(ConfigError, match="name=value"):
        parse_assignments(["verify.runs"])


def test_change_keeps_what_it_doesnt_name():
    base = parse_settings({"verify": {"runs": 4, "timeout_s": 9}})
    changed = with_changes(base, {"verify.runs": 5, "workers": None}, "--set")
    assert (changed.verify.runs, changed.verify.timeout_s) == (5, 9)
    with pytest.raises(ConfigError, match="did you mean `verify`"):
        with_changes(base, {"verfy.runs": 5}, "--set")


def test_default_written_out_means_the_same():
    assert meaning_of(Settings().verify) == meaning_of(parse_settings({"verify": {"runs": 3}}).verify)
    assert meaning_of(Settings().verify) != meaning_of(parse_settings({"verify": {"runs": 4}}).verify)


def test_runtime_of_an_engine_that_is_not_used_isnt_passed_over():
    with pytest.raises(ConfigError, match=r"runtime is of the Docker engine"):
        parse_settings({"sandbox": {"runtime": "runsc"}})
    chosen = parse_settings({"sandbox": {"backend": "docker", "runtime": "runsc"}}).sandbox
    assert chosen.runtime == "runsc"


def test_off_of_a_budget_is_a_word_and_a_wrong_one_is_named():
    assert parse_settings({"stability": {"budget": False}}).stability.budget == "off"  # YAML's `off`
    with pytest.raises(ConfigError, match=r"stability\.budget"):
        parse_settings({"stability": {"budget": "deeper"}})
    with pytest.raises(ConfigError, match=r"strength\.mutants"):
        parse_settings({"strength": {"mutants": 4}})


def test_options_about_tests_are_settings(monkeypatch, tmp_path):
    seen = []
    monkeypatch.setattr(run_commands, "run_and_publish", lambda settings, **_: seen.append(settings) or 0)
    config = tmp_path / "c.yaml"
    config.write_text("stability: {budget: off}\n", encoding="utf-8")
    for words in ([], ["--deep", "--scope", "related"]):
        assert CliRunner().invoke(app, ["run", str(config), *words]).exit_code == 0
    told = [(settings.stability.budget, settings.verify.scope) for settings in seen]
    assert told == [("off", "touched"), ("deep", "related")]
    assert CliRunner().invoke(app, ["run", str(config), "--scope", "everything"]).exit_code == 2
