"""The list of commands: true to the commands, and quick to show."""

import inspect
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from swequarry.cli.app import COMMANDS, app, load_command

HEAVY = ("sqlalchemy", "pyarrow", "docker", "git", "yaml", "swequarry.pipeline", "jinja2")


@pytest.mark.parametrize("name", COMMANDS)
def test_line_in_the_list_is_the_one_in_the_commands_own_help(name):
    command = load_command(name)
    assert command.name in (name, None, "")
    assert inspect.cleandoc(command.help).splitlines()[0] == COMMANDS[name][1]


def test_help_and_a_typing_mistake_load_no_implementation():
    code = (
        "import sys\nfrom swequarry.cli.main import run\n"
        "codes = run(['--help']), run(['wyh'])\n"
        f"print(codes, [name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1].endswith(" []"), done.stderr
    assert "Did you mean 'why'?" in done.stderr


def test_grading_loads_nothing_that_mines_and_builds():
    others = ("miner", "reconstruct", "docker", "numpy", "urllib3", "tree_sitter", "pyarrow", "jinja2")
    code = (
        "import sys\nimport swequarry.cli.grade_command\n"
        f"print([name for name in {others!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_every_command_has_help_and_short_help_option():
    for name in COMMANDS:
        done = CliRunner().invoke(app, [name, "-h"])
        assert done.exit_code == 0, done.output
        assert COMMANDS[name][1].split()[0] in done.output
