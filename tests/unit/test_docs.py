"""What README and docs say must be so: commands, options, settings, causes."""

import itertools
import re
import shlex
from pathlib import Path

import pytest
import yaml

from swequarry.cli.app import COMMANDS, load_command
from swequarry.config import EnvironmentOverride, Settings, parse_settings

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
ENVIRONMENTS = (ROOT / "docs" / "environments.md").read_text(encoding="utf-8")


def commands_of(page: Path) -> list[str]:
    """Return the command lines of a page: those after a prompt, and those in back quotes."""
    text = page.read_text(encoding="utf-8")
    prompts = re.findall(r"^\$ (swequarry .*)$", text, re.MULTILINE)
    return prompts + [" ".join(found.split()) for found in re.findall(r"`(swequarry [^`]+)`", text)]


def said() -> list:
    return [pytest.param(line, id=f"{page.stem}: {line}") for page in PAGES for line in commands_of(page)]


@pytest.mark.parametrize("line", said())
def test_every_command_that_a_page_names_has_these_options(line):
    _, name, *words = shlex.split(line.split(" | ")[0], comments=True)
    assert name in COMMANDS
    command = load_command(name)
    if words and words[0] in getattr(command, "commands", {}):
        command = command.commands[words.pop(0)]
    known = {option for parameter in command.params for option in parameter.opts} | {"-h", "--help"}
    words = words[: words.index("--")] if "--" in words else words
    assert [word for word in words if word.startswith("-") and word not in known] == []
    for assignment in [after for word, after in itertools.pairwise(words) if word == "--set"]:
        setting = assignment.partition("=")[0].split(".")
        model = Settings
        for part in setting:
            assert part in model.model_fields, assignment
            model = model.model_fields[part].annotation


def test_no_link_of_a_page_leads_nowhere():
    for page in PAGES:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_table_of_overrides_has_every_key_and_no_other():
    table = ENVIRONMENTS.partition("| key | what it does |")[2].partition("\n\n")[0]
    keys = {
        name
        for row in table.splitlines()
        for name in re.findall(r"`(\w+)`", row.split("|")[1] if "|" in row else "")
    }
    assert keys == set(EnvironmentOverride.model_fields)


def test_table_of_causes_has_every_class_of_the_data_file():
    data = (ROOT / "reconstruct" / "environment" / "failure_causes.yaml").read_text(encoding="utf-8")
    classes = {entry["class"].partition(":")[0] for entry in yaml.safe_load(data)} | {"unknown"}
    table = ENVIRONMENTS.partition("| cause | what to do |")[2].partition("\n\n")[0]
    named = {name for row in table.splitlines()[2:] for name in re.findall(r"`(\w+)[`:]", row.split("|")[1])}
    assert named == classes


def test_settings_on_the_page_are_settings():
    blocks = re.findall(r"```yaml\n(.*?)```", ENVIRONMENTS, re.DOTALL)
    assert blocks
    for block in blocks:
        assert parse_settings(yaml.safe_load(block)) != Settings()


def test_three_lines_take_the_batch_to_a_cluster():
    page = (ROOT / "docs" / "scaling.md").read_text(encoding="utf-8")
    block = page.partition("on a cluster\n\nThree lines")[2].partition("```yaml\n")[2].partition("```")[0]
    batch = yaml.safe_load((ROOT / "configs" / "batch.yaml").read_text(encoding="utf-8"))
    assert batch.pop("workers") == 2
    settings = parse_settings({**batch, **yaml.safe_load(block)})
    assert len(block.splitlines()) == 3
    assert (settings.executor.kind, settings.workers) == ("ray", 2)
    assert None not in (settings.ledger, settings.blobs)


def test_settings_of_the_scaling_page_are_settings():
    page = (ROOT / "docs" / "scaling.md").read_text(encoding="utf-8")
    together = {}
    for block in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL):
        together |= yaml.safe_load(block)
    assert parse_settings(together).executor.kind == "ray"
