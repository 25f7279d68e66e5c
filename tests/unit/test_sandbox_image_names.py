"""Names of images: what an engine would refuse later is refused now."""

from dataclasses import replace

import pytest

from swequarry.errors import UsageError
from swequarry.records import ContentHash, RepoRef
from swequarry.sandbox.image_names import image_name, remote_name
from tests.task_factory import Blobs, make_task

IDENTITY = ContentHash("ab" * 32)


def name(template: str, **changes) -> str:
    return image_name(template, replace(make_task(Blobs()).candidate, **changes), IDENTITY)


def test_template_is_filled_in_lower_case_and_gets_a_tag():
    assert name("mine/{instance_id}", instance_id="Acme__Widgets-7") == "mine/acme__widgets-7:latest"
    assert name("x.org:5000/{owner}/{name}:{number}", repo=RepoRef(owner="A", name="b")).startswith(
        "x.org:5000/a/b:"
    )


def test_swebench_id_is_what_its_harness_looks_for():
    assert name("sweb.eval.x86_64.{swebench_id}:latest") == "sweb.eval.x86_64.acme_1776_widgets-7:latest"


@pytest.mark.parametrize(
    "template", ["{bar}", "{instance_id", "{0}", "a b", "Upper/{name}", "x/{instance_id}:", ""]
)
def test_template_that_gives_no_name_is_refused(template):
    with pytest.raises(UsageError, match=r"can't be filled|no name of an image"):
        name(template)


def test_name_in_a_registry_keeps_its_port_and_takes_no_address():
    assert remote_name("https://localhost:5000/tasks/", "a/b:latest") == "localhost:5000/tasks/a/b:latest"
    with pytest.raises(UsageError):
        remote_name("bad host", "a/b:latest")
