"""Whole builds inside bubblewrap against an index made by the test; no network, no real distribution."""

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from conftest import choose_python, skip_or_fail
from git_building import git
from local_index import LocalIndex, make_sdist, serve

from reconstruct.environment import optional_sources
from reconstruct.environment.build_session import BuildCause
from reconstruct.environment.builder import BuildResult, Built, NotBuilt, Workshop, build
from reconstruct.environment.search import FoundEnvironment, TrialResult, find_environment
from reconstruct.leaks.answer import read_answer
from reconstruct.leaks.scan import BaseTree, WorldScan
from swequarry.config import SandboxSettings
from swequarry.delta import FileContent, TreeDelta
from swequarry.errors import IndexUnavailableError
from swequarry.ledger.blobs import BlobStore
from swequarry.outcome import Accepted, Boundary, Failed, Outcome, RejectCode, Rejected
from swequarry.records import Recipe
from swequarry.sandbox.backends import open_backend
from swequarry.sandbox.bubblewrap_store import WorldStore
from swequarry.sandbox.contract import (
    ENVIRONMENT,
    PYTHON,
    Command,
    ExecResult,
    Interpreter,
    Limits,
    SandboxBackend,
    World,
)
from swequarry.sandbox.index_proxy import IndexSource
from swequarry.sandbox.visible import VisibleWorld
from swequarry.verify.build_again import build_again

CUTOFF = datetime(2021, 6, 1, tzinfo=UTC)
YEAR_2026 = "2026-03-01T00:00:00Z"

BUILD_META = """
import base64, hashlib, os, sys, zipfile
import setuptools

def _facts():
    setuptools.recorded.clear()
    with open("setup.py") as stream:
        code = compile(stream.read(), "setup.py", "exec")
    exec(code, {"__name__": "__main__", "__file__": os.path.abspath("setup.py")})
    return dict(setuptools.recorded)

def _metadata(facts):
    lines = ["Metadata-Version: 2.1", "Name: " + facts["name"], "Version: " + facts["version"]]
    return "\\n".join(lines + ["Requires-Dist: " + r for r in facts.get("install_requires", [])]) + "\\n"

def get_requires_for_build_wheel(settings=None):
    return []

def prepare_metadata_for_build_wheel(folder, settings=None):
    facts = _facts()
    name = "%s-%s.dist-info" % (facts["name"], facts["version"])
    os.makedirs(os.path.join(folder, name), exist_ok=True)
    for file, text in (("METADATA", _metadata(facts)), ("WHEEL", WHEEL)):
        with open(os.path.join(folder, name, file), "w") as stream:
            stream.write(text)
    return name

WHEEL = "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n"

def _wheel(folder, files):
    facts = _facts()
    stem = "%s-%s" % (facts["name"], facts["version"])
    files = dict(files(facts))
    files[stem + ".dist-info/METADATA"] = _metadata(facts)
    files[stem + ".dist-info/WHEEL"] = WHEEL
    def line(path, text):
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        return "%s,sha256=%s,%d\\n" % (path, digest, len(text.encode()))
    record = "".join(line(p, t) for p, t in files.items()) + stem + ".dist-info/RECORD,,\\n"
    with zipfile.ZipFile(os.path.join(folder, stem + "-py3-none-any.whl"), "w") as archive:
        for path, text in list(files.items()) + [(stem + ".dist-info/RECORD", record)]:
            archive.writestr(path, text)
    return stem + "-py3-none-any.whl"

def build_wheel(folder, settings=None, metadata=None):
    def files(facts):
        for name in facts.get("py_modules", []):
            with open(name + ".py") as stream:
                yield name + ".py", stream.read()
    return _wheel(folder, files)

def build_editable(folder, settings=None, metadata=None):
    return _wheel(folder, lambda facts: [("__editable__.%s.pth" % facts["name"], os.getcwd() + "\\n")])

get_requires_for_build_editable = get_requires_for_build_wheel
prepare_metadata_for_build_editable = prepare_metadata_for_build_wheel
__legacy__ = sys.modules[__name__]
"""
SETUPTOOLS = {
    "setuptools/__init__.py": "recorded = {}\ndef setup(**keywords):\n    recorded.update(keywords)\n",
    "setuptools/build_meta.py": BUILD_META,
}
OLD_SETUPTOOLS = {**SETUPTOOLS, "pkg_resources/__init__.py": "def parse_version(text): return text\n"}


def setup_py(
    name: str = "demo", version: str = "1.0", requires: tuple[str, ...] = (), before: str = ""
) -> str:
    return (
        f"{before}\nfrom setuptools import setup\n"
        f"setup(name={name!r}, version={version!r}, install_requires={list(requires)!r}, py_modules=['demo'])\n"
    )


@dataclass
class Site:
    """A backend, an index and a blob store; `build` makes a tree and builds a recipe on it."""

    backend: SandboxBackend
    python: Interpreter
    index: LocalIndex
    folder: Path
    keys: list[str] = field(default_factory=list)
    limits: Limits = field(default_factory=lambda: Limits(wall_s=120, disk_bytes=1 << 30, tmp_bytes=1 << 28))

    @property
    def blobs(self) -> BlobStore:
        return BlobStore(self.folder / "blobs")

    @property
    def workshop(self) -> Workshop:
        source = IndexSource(cache=self.folder / "cache", index_url=self.index.url, retries=0)
        return Workshop(backend=self.backend, index=source, put_blob=self.blobs.put, limits=self.limits)

    def recipe(self, **more) -> Recipe:
        minor = ".".join(self.python.version.split(".")[:2])
        return replace(Recipe(python=minor, cutoff=CUTOFF, project_name="demo"), **more)

    def tree(self, files: Mapping[str, str], key: str) -> World:
        folder = self.folder / key
        for path, text in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
        self.keys.append(key)
        return self.backend.import_tree(folder, key)

    def build(self, files: Mapping[str, str], key: str, **recipe) -> BuildResult:
        return build(self.recipe(**recipe), self.tree(files, key), self.python, self.workshop)

    def find(self, files: Mapping[str, str], key: str, trial=None, **recipe) -> Outcome[FoundEnvironment]:
        works = trial or (lambda _world, _recipe: TrialResult(ok=True, log=b"", score=1))
        base = self.tree(files, key)
        return find_environment(
            [self.recipe(**recipe)], base, self.workshop, works, interpreters=[self.python]
        )

    def lock(self, built: Built) -> list[str]:
        lines = self.blobs.get(built.lock).decode().splitlines()
        return [line.split()[0] for line in lines if not line.startswith(" ")]

    def run(self, world: World, *argv: str) -> ExecResult:
        return self.backend.run_once(world, TreeDelta(), Command(argv=argv), Limits(wall_s=60))


@pytest.fixture(scope="module")
def backend() -> Iterator[tuple[SandboxBackend, Path]]:
    folder = Path(tempfile.mkdtemp(prefix="swequarry-build-", dir="/var/tmp"))
    folder.chmod(0o755)
    try:
        opened = open_backend(SandboxSettings(), folder / "store")
        missing = opened.probe()
        if missing:
            skip_or_fail("bubblewrap", "; ".join(missing))
        yield opened, folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def site(backend: tuple[SandboxBackend, Path], tmp_path: Path) -> Iterator[Site]:
    opened, _ = backend
    with serve(LocalIndex()) as index:
        for name in ("pip", "wheel"):
            index.wheel(name, "20.0")
        index.wheel("setuptools", "57.0", "2021-05-21T00:00:00Z", files=OLD_SETUPTOOLS)
        index.wheel("setuptools", "82.0", YEAR_2026, files=SETUPTOOLS)
        index.wheel("toolbox", "1.4", "2021-01-01T00:00:00Z")
        index.wheel("toolbox", "2.0", YEAR_2026)
        yield Site(backend=opened, python=choose_python(opened), index=index, folder=tmp_path)


FIXED = """VALUE = 'the fix'
corrected_value = compute_carefully(VALUE)
second_corrected_value = compute_again(corrected_value)
print(corrected_value, second_corrected_value)
"""
DEMO = {"demo.py": "VALUE = 1\n", "setup.py": setup_py(requires=("toolbox",))}


def built(result: BuildResult) -> Built:
    assert isinstance(result, Built), (result.decisive, result.log[-3000:].decode())
    return result


def test_project_of_2021_is_built_with_the_tools_of_2021_on_any_day(site):  # B028
    files = {**DEMO, "setup.py": setup_py(requires=("toolbox",), before="import pkg_resources")}
    first = built(site.build(files, "b028"))
    assert site.lock(first) == ["pip==20.0", "setuptools==57.0", "toolbox==1.4", "wheel==20.0"]
    assert b"--hash=sha256:" in site.blobs.get(first.lock)
    site.index.wheel("toolbox", "1.5", "2026-11-01T00:00:00Z")
    shutil.rmtree(site.folder / "cache")
    again = built(site.build(files, "b028"))
    assert (again.lock, again.world) == (first.lock, first.world)
    assert (first.project_version, first.python_version) == ("1.0", site.python.version)


def test_lock_gives_the_same_environment_after_the_index_changed(site):  # B028
    site.index.wheel("extra", "1.0")
    recipe, tree = site.recipe(optional=("extra",)), site.tree(DEMO, "relock")
    first = built(build(recipe, tree, site.python, site.workshop))
    site.index.wheel("toolbox", "1.4.1", "2021-01-02T00:00:00Z")
    site.index.wheel("extra", "2.0")
    shutil.rmtree(site.folder / "cache")
    resolved = built(build(recipe, tree, site.python, site.workshop))
    assert "toolbox==1.4.1" in site.lock(resolved), "the index really changed"
    locked = build(recipe, tree, site.python, site.workshop, lock=site.blobs.get(first.lock))
    assert (built(locked).lock, built(locked).world) == (first.lock, first.world)


@pytest.mark.parametrize(
    "vendored, requirements, stays",
    [
        ({"demo/__init__.py": FIXED, "vendor.txt": "x==1\n"}, (), False),
        ({"vendor.txt": "Demo==2.0  # why\n"}, (), False),
        ({"vendor.txt": "Demo==2.0\n"}, ("pip",), True),
        ({"other_demo.py": FIXED, "vendor.txt": "demos==1\n"}, (), True),
    ],
)
def test_pip_stays_out_where_it_carries_a_copy_of_the_project(site, vendored, requirements, stays):  # B026
    site.index.wheel("pip", "21.0", files={f"pip/_vendor/{name}": text for name, text in vendored.items()})
    made = built(site.build(DEMO, "vendored", requirements=requirements))
    assert ("pip==21.0" in site.lock(made)) is stays
    assert {"setuptools==57.0", "toolbox==1.4", "wheel==20.0"} <= set(site.lock(made))
    assert site.run(made.world, PYTHON, "-c", "import pip._vendor").ok is stays
    assert site.run(made.world, PYTHON, "-c", "import demo, toolbox").ok


def test_lock_whose_file_is_gone_is_not_built_otherwise(site):  # B028
    first = built(site.build(DEMO, "gone"))
    site.index.projects["toolbox"] = site.index.projects["toolbox"][1:]
    shutil.rmtree(site.folder / "cache")
    tree = site.tree(DEMO, "gone")
    result = build(site.recipe(), tree, site.python, site.workshop, lock=site.blobs.get(first.lock))
    assert isinstance(result, NotBuilt)
    assert any("toolbox" in line for line in result.decisive)


def test_built_world_runs_the_tree_itself(site):
    world = built(site.build(DEMO, "runs")).world
    code = "import demo, toolbox; print(demo.__file__, toolbox.VERSION)"
    result = site.run(world, PYTHON, "-I", "-c", code)
    assert result.output.split() == [b"/testbed/demo.py", b"1.4"], result.output


def test_own_later_release_is_nowhere_in_the_world(site):  # B026
    site.index.wheel("demo", "1.1", "2021-01-05T00:00:00Z", files={"demo.py": FIXED})
    ask = (
        "import os, urllib.error, urllib.request\n"
        "def ask(path):\n"
        "    try:\n"
        "        return urllib.request.urlopen(os.environ['PIP_INDEX_URL'] + path).status\n"
        "    except urllib.error.HTTPError as error:\n"
        "        return error.code\n"
        "asked = [ask('demo/'), ask('Demo/'), ask('toolbox/')]\n"
        "open('asked.txt', 'w').write(repr(asked))\n"
    )
    files = {**DEMO, "setup.py": setup_py(requires=("toolbox",), before=ask)}
    result = built(site.build(files, "b026", requirements=("demo",)))
    assert site.run(result.world, "cat", "/testbed/asked.txt").output == b"[404, 404, 200]"
    found = site.run(result.world, "grep", "-rl", "the fix", "/opt/swequarry", "/testbed", "/tmp")
    assert found.exit_code == 1, found.output
    left = site.run(result.world, "sh", "-c", "ls /opt/swequarry; find / -xdev -name 'demo-1*' 2>/dev/null")
    metadata = [p for p in left.output.split() if not p.endswith(b"/demo-1.0.dist-info")]
    assert metadata == [b"env"], left.output
    assert searched(site, result.world) == []
    with site.backend.create(result.world) as sandbox:
        later = site.index.find("demo-1.1-py3-none-any.whl").data
        put = TreeDelta(files={b"cache/demo-1.1-py3-none-any.whl": FileContent(data=later)})
        sandbox.put(put, root=ENVIRONMENT)
        planted = sandbox.commit("b026 planted")
    site.keys.append(planted.key)
    assert searched(site, planted) == [f"{ENVIRONMENT}/cache/demo-1.1-py3-none-any.whl!demo.py"]


def searched(site: Site, world: World) -> list[str]:
    """Return where the leak audit finds release 1.1 of the project."""
    fix = "".join(f"+{line}\n" for line in FIXED.splitlines())
    patch = "diff --git a/demo.py b/demo.py\n--- a/demo.py\n+++ b/demo.py\n@@ -1 +1,4 @@\n-VALUE = 1\n" + fix
    base = BaseTree(blobs=frozenset(), modules=frozenset({"demo.py"}), project="demo", version="1.0")
    visible = VisibleWorld(WorldStore(site.backend._store.path), world.key)
    scan = WorldScan(visible, read_answer([("gold", patch.encode())]), base, site.folder / "leaks")
    return [finding.path for finding in scan.run({}).findings]


def test_undated_distribution_comes_in_by_a_recorded_rule_only(site):  # B030
    site.index.wheel("beta", "9.0", None)
    result = site.build(DEMO, "b030", requirements=("beta",))
    assert isinstance(result, NotBuilt)
    assert any("undated: beta" in note for note in result.notes)
    assert any("beta" in line for line in result.decisive)
    outcome = site.find(DEMO, "b030", requirements=("beta",))
    assert isinstance(outcome, Accepted)
    environment = outcome.value.environment
    assert [(t.result, t.rule) for t in environment.tries] == [
        ("build_failed: resolve", None), ("works", "no-date-in-index"),
    ]  # fmt: skip
    assert dict(environment.recipe.exempt) == {"beta": CUTOFF}


def test_distribution_uploaded_again_later_is_found_and_recorded(site):
    site.index.wheel("again", "1.0", "2022-07-08T00:00:00Z")
    site.index.wheel("again", "2.0", "2024-07-08T00:00:00Z")
    outcome = site.find(DEMO, "again", requirements=("toolbox",), optional=())
    assert isinstance(outcome, Accepted), "nothing asks for it, so nothing happens"
    site.index.wheel("user", "3.0", "2020-07-08T00:00:00Z", requires=["again"])
    site.index.wheel("user", "0.1", "2010-07-08T00:00:00Z")
    outcome = site.find(DEMO, "again", requirements=("user",))
    assert isinstance(outcome, Accepted)
    assert [t.rule for t in outcome.value.environment.tries] == [None, "uploaded-again-later"]
    assert {"again==1.0", "user==3.0"} <= set(site.lock(outcome.value.built)), (
        "not the silent fall-back to 0.1"
    )


def test_optional_requirements_are_lost_one_by_one_and_never_change_the_first_tier(site):
    site.index.wheel("good", "1.0", requires=["helper"])
    site.index.wheel("helper", "1.0")
    site.index.wheel("greedy", "1.0", requires=["toolbox>=1.5"])
    site.index.wheel("dead", "1.0", files={"dead.py": "raise RuntimeError('no library here')\n"})
    site.index.wheel("victim", "1.0", requires=["dead"], files={"victim.py": "import dead\n"})
    wanted = ("good", "greedy", "dead", "absent", "helper")
    result = built(site.build(DEMO, "optional", optional=wanted))
    assert [name for name, _ in result.lost] == ["absent", "dead", "greedy"]
    assert "RuntimeError: no library here" in dict(result.lost)["dead"]
    assert {"good==1.0", "helper==1.0", "toolbox==1.4"} <= set(site.lock(result))
    assert not {"dead==1.0", "greedy==1.0"} & set(site.lock(result))
    assert site.run(result.world, PYTHON, "-I", "-c", "import good, helper").ok


def sdist(site: Site, name: str, *, before: str = "", requires: tuple[str, ...] = ()) -> None:
    """Put a distribution without wheels into the index."""
    files = {"setup.py": setup_py(name, requires=requires, before=before), "demo.py": ""}
    files["setup.py"] = files["setup.py"].replace("['demo']", f"[{name!r}]")
    files[f"{name}.py"] = f"VALUE = {name!r}\n"
    site.index.add(f"{name}-1.0.tar.gz", make_sdist(name, "1.0", files))


def test_optional_sources_are_built_one_by_one_in_bounded_time(site, monkeypatch):
    monkeypatch.setattr(optional_sources, "_EACH_S", 30.0)
    site.limits = replace(site.limits, wall_s=900)
    sdist(site, "pure")
    sdist(site, "greedy", requires=("toolbox>=1.5",))
    sdist(site, "broken", before="raise SystemExit('no compiler here')")
    sdist(site, "endless", before="import time\ntime.sleep(600)")
    site.index.wheel("above", "1.0", requires=["pure"])
    result = built(site.build(DEMO, "sources", optional=("broken", "greedy", "endless", "above")))
    assert dict(result.lost) == {
        "broken": "doesn't go with the rest",
        "endless": "takes too long to look at",
        "greedy": "doesn't go with the rest",
    }
    assert {"above==1.0", "pure==1.0", "toolbox==1.4"} <= set(site.lock(result))
    assert site.run(result.world, PYTHON, "-I", "-c", "import above, pure").ok


def test_no_time_for_optional_sources_is_no_failure_of_the_environment(site, monkeypatch):
    monkeypatch.setattr(optional_sources, "_ALL_S", 1.0)
    sdist(site, "pure")
    result = built(site.build(DEMO, "no time", optional=("pure",)))
    assert dict(result.lost) == {"pure": "no time is left for its sources"}


def test_sources_that_import_what_they_dont_declare_are_built_beside_it_again_and_again(site):
    sdist(site, "needy", before="import toolbox")
    tree, recipe = site.tree(DEMO, "needy"), site.recipe(optional=("needy",))
    first = built(build(recipe, tree, site.python, site.workshop))
    assert (first.lost, "needy==1.0" in site.lock(first)) == ((), True)
    again = build(recipe, tree, site.python, site.workshop, lock=site.blobs.get(first.lock))
    assert (built(again).lock, built(again).world) == (first.lock, first.world)
    assert site.run(first.world, PYTHON, "-I", "-c", "import needy, toolbox").ok


def test_dependency_whose_set_up_imports_numpy_undeclared_is_built_beside_it(site):
    site.index.wheel("numpy", "1.19")
    site.index.wheel("numpy", "1.20", YEAR_2026)
    sdist(site, "needy", before="import numpy", requires=("numpy",))
    files = {**DEMO, "setup.py": setup_py(requires=("needy",))}
    first = built(site.build(files, "numpy first"))
    assert {"needy==1.0", "numpy==1.19"} <= set(site.lock(first))
    tree = site.tree(files, "numpy first")
    again = build(site.recipe(), tree, site.python, site.workshop, lock=site.blobs.get(first.lock))
    assert (built(again).lock, built(again).world) == (first.lock, first.world)


def test_dead_package_deep_in_the_traceback_goes_and_its_user_with_it(site):
    site.index.wheel("dead", "1.0", files={"dead.py": "raise RuntimeError('broken')\n"})
    tolerant = "try:\n    import dead\nexcept ImportError:\n    dead = None\n"
    site.index.wheel("tolerant", "1.0", files={"tolerant.py": tolerant})
    result = built(site.build(DEMO, "dead", optional=("tolerant", "dead")))
    assert [name for name, _ in result.lost] == ["dead"], (
        "the one that broke it goes, not the one that met it"
    )


def test_outage_of_the_index_is_no_verdict_about_the_project(site):
    site.index.status["/simple/toolbox"] = 503
    with pytest.raises(IndexUnavailableError):
        site.build(DEMO, "outage")
    site.index.status.clear()
    built(site.build(DEMO, "outage"))


def test_damaged_download_is_no_verdict_about_the_project(site):
    for stored in site.index.projects["toolbox"]:
        stored.served = b"cut off"
    with pytest.raises(IndexUnavailableError):
        site.build(DEMO, "damaged")


def test_copy_in_site_packages_that_hides_the_tree_ends_the_build(site):  # environments.md, trap 12a
    site.index.wheel("shadow", "1.0", files={"demo.py": "VALUE = 'a copy'\n"})
    result = site.build(DEMO, "shadow", requirements=("shadow",))
    assert isinstance(result, NotBuilt)
    assert result.cause is BuildCause.PROJECT
    assert any("isn't imported from the tree" in line for line in result.decisive)


def test_made_up_version_is_replaced_by_the_nearest_tag(site):  # B025
    scm = "import os\nversion = os.environ.get('SETUPTOOLS_SCM_PRETEND_VERSION_FOR_DEMO', '0.1.dev1+g123')\n"
    files = {**DEMO, "setup.py": setup_py(before=scm).replace("version='1.0'", "version=version")}
    folder = site.folder / "b025"
    folder.mkdir()
    for command in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "x"], ["tag", "v1.4"]):
        git(folder, *command)
    outcome = site.find(files, "b025")
    assert isinstance(outcome, Accepted)
    assert outcome.value.environment.project_version == "1.4"
    assert outcome.value.environment.tries[-1].rule == "own-version-unknown"


def test_set_up_code_finds_its_data_through_git(site):  # B032
    listing = (
        "import subprocess\n"
        "found = subprocess.run(['git', 'ls-files'], stdout=subprocess.PIPE, check=True).stdout.decode()\n"
        "assert 'table.csv' in found, 'git lists nothing here'\n"
    )
    files = {**DEMO, "setup.py": setup_py(before=listing), "table.csv": "a,b\n"}
    folder = site.folder / "b032"
    folder.mkdir()
    for path, text in files.items():
        (folder / path).write_text(text)
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "x"]):
        git(folder, *command)
    world = built(site.build(files, "b032")).world
    assert site.run(world, "git", "status", "--porcelain").output == b""


def test_tree_with_absent_files_is_not_dirty_for_version_tools_and_keeps_its_index(site):
    dirty = (
        "import subprocess\n"
        "text = subprocess.run(['git', 'describe', '--tags', '--dirty'], stdout=subprocess.PIPE).stdout.decode()\n"
        "version = text.strip().lstrip('v').replace('-', '+')\n"
    )
    files = {
        **DEMO,
        "setup.py": setup_py(before=dirty).replace("version='1.0'", "version=version"),
        "big": "x",
    }
    folder = site.folder / "absent"
    folder.mkdir()
    for path, text in files.items():
        (folder / path).write_text(text)
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "x"], ["tag", "v1.4"]):
        git(folder, *command)
    (folder / "big").unlink()
    del files["big"]
    result = built(site.build(files, "absent"))
    assert result.project_version == "1.4"
    status = site.run(result.world, "git", "-C", "/testbed", "ls-files", "-v")
    assert b"H big" in status.output.splitlines(), status.output


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("hangs", "import time; time.sleep(600)"),
        ("fills", "open('/opt/swequarry/x', 'wb').write(b'x' * (2 << 30))"),
    ],
)
def test_limit_is_no_verdict_about_the_project(site, name, code):
    site.limits = Limits(wall_s=20, disk_bytes=256 << 20, tmp_bytes=1 << 28)
    outcome = site.find({**DEMO, "setup.py": setup_py(before=code)}, name)
    assert isinstance(outcome, Failed), outcome
    assert outcome.boundary is Boundary.SANDBOX
    assert outcome.retryable


def test_project_that_cannot_be_built_is_rejected_with_the_decisive_lines(site):
    outcome = site.find(
        {**DEMO, "setup.py": "raise SystemExit('error: this needs a computer of 1970')\n"}, "broken"
    )
    assert isinstance(outcome, Rejected)
    assert outcome.code is RejectCode.BUILD_FAILED
    assert any("computer of 1970" in line for line in outcome.evidence)


def test_interpreter_that_is_not_here_is_its_own_rejection(site):
    outcome = site.find(DEMO, "nopython", python="3.99")
    assert isinstance(outcome, Rejected)
    assert outcome.code is RejectCode.NO_INTERPRETER


def test_trial_decides_and_its_log_mends_the_recipe(site):
    site.index.wheel("PyYAML", "6.0", "2021-01-01T00:00:00Z", files={"yaml.py": ""})

    def trial(world: World, _recipe: Recipe) -> TrialResult:
        result = site.run(world, PYTHON, "-I", "-c", "import yaml")
        return TrialResult(ok=result.ok, log=result.output, score=1)

    outcome = site.find(DEMO, "trial", trial)
    assert isinstance(outcome, Accepted), outcome
    tries = outcome.value.environment.tries
    assert [(t.result, t.rule) for t in tries] == [("trial_failed", None), ("works", "module-missing")]
    assert "pyyaml==6.0" in site.lock(outcome.value.built)
    assert site.backend.has_world(outcome.value.world.key)


def test_better_trial_replaces_a_good_one_and_worlds_of_the_others_are_gone(site):
    site.index.wheel("PyYAML", "6.0", "2021-01-01T00:00:00Z", files={"yaml.py": ""})
    worlds = []

    def trial(world: World, _recipe: Recipe) -> TrialResult:
        worlds.append(world)
        has = site.run(world, PYTHON, "-I", "-c", "import yaml").ok
        log = b"" if has else b"SKIPPED [1] t.py:1: could not import 'yaml': No module named 'yaml'"
        return TrialResult(ok=True, log=log, score=2 if has else 1)

    outcome = site.find(DEMO, "better", trial)
    assert isinstance(outcome, Accepted)
    assert [t.result for t in outcome.value.environment.tries] == ["works", "works"]
    assert [site.backend.has_world(w.key) for w in worlds] == [False, True]


def test_project_that_is_not_installed_is_only_put_on_the_path(site):
    files = {"src/inner.py": "VALUE = 2\n", "outer.py": "VALUE = 1\n"}
    result = built(site.build(files, "path", install="path", project_name=None))
    code = "import inner, outer; print(inner.VALUE, outer.VALUE)"
    assert site.run(result.world, PYTHON, "-I", "-c", code).output.split() == [b"2", b"1"]


def test_project_whose_name_turns_out_during_the_build_is_denied_all_the_same(site):  # B026
    site.index.wheel("demo", "1.1", "2021-01-05T00:00:00Z", files={"demo.py": "VALUE = 'the fix'\n"})
    site.index.wheel("user", "1.0", requires=["demo"])
    result = built(
        site.build(DEMO, "nameless", project_name=None, requirements=("user",), optional=("demo",))
    )
    assert site.lock(result) == ["pip==20.0", "setuptools==57.0", "toolbox==1.4", "user==1.0", "wheel==20.0"]
    assert result.project_version == "1.0"
    assert site.run(result.world, PYTHON, "-I", "-c", "import demo; print(demo.VALUE)").output == b"1\n"


def test_local_package_outside_the_tree_is_refused(site):
    result = site.build(DEMO, "outside", local_packages=("../opt",))
    assert isinstance(result, NotBuilt)
    assert result.cause is BuildCause.PROJECT


def test_byte_code_of_the_tree_and_fetched_eggs_do_not_stay(site):
    before = "import os, py_compile\nos.makedirs('.eggs/x', exist_ok=True)\nos.makedirs('build/lib', exist_ok=True)\npy_compile.compile('demo.py')\n"
    files = {**DEMO, "setup.py": setup_py(requires=("toolbox",), before=before)}
    world = built(site.build(files, "tidy")).world
    listed = site.run(world, "ls", "-A", "/testbed").output.split()
    assert sorted(listed) == [b"build", b"demo.py", b"setup.py"]
    compiled = site.run(
        world, "sh", "-c", "ls /opt/swequarry/env/lib/python*/site-packages/__pycache__/toolbox*"
    )
    assert compiled.ok, "runs see it read-only"


COMPILES = """
import os, subprocess, sys
if "build_ext" in sys.argv or not os.path.exists("_fast.so"):
    subprocess.check_call(["cc", "-shared", "-fPIC", "-o", "_fast.so", "_fast.c"])
"""


def test_changed_c_source_never_runs_as_the_module_of_the_old_one(site):  # sandbox.md, 7
    files = {**DEMO, "setup.py": setup_py(before=COMPILES), "_fast.c": "int value(void) { return 1; }\n"}
    world = built(site.build(files, "compiled")).world
    ask = Command(argv=(PYTHON, "-c", "import ctypes; print(ctypes.CDLL('/testbed/_fast.so').value())"))

    def said(delta: TreeDelta) -> bytes:
        return site.backend.run_once(world, delta, ask, Limits(wall_s=60)).output.strip()

    delta = TreeDelta(files={b"_fast.c": FileContent(data=b"int value(void) { return 2; }\n")})
    made = build_again(site.backend, world, delta, site.recipe(), Limits(wall_s=120))
    assert made.failure is None
    assert (said(delta), said(made.delta)) == (b"1", b"2")
    broken = TreeDelta(files={b"_fast.c": FileContent(data=b"int value(void) {\n")})
    assert "error" in str(build_again(site.backend, world, broken, site.recipe(), Limits(wall_s=120)).failure)
