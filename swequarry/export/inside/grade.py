"""Grade what a solver did, inside the verifier of an exported task, and write the reward.

Runs as root under Python 3.6 and later; every program of the checkout runs as the sandbox's user. The order:
see what the untouched world offers, apply the solver's patch, take back what a solver may not decide about
(settings of pytest, conftest files, tests, start-up files), put the hidden tests in place, run them with the
recorder that verified the task, then the tests that nobody can pass and those that nobody has seen.

The reward is 1 if every test that must pass did, and 0 if one didn't. Where the machinery breaks no reward is
written: that says nothing of the solver.
"""
# ruff: noqa: D102, D103, PLW1509, RUF005, SIM115, T201  (3.6 has no `user` for processes)

import json
import os
import pwd
import re
import resource
import select
import signal
import subprocess
import sys
import tempfile
import time

from grade_report import UnsoundError, read_report

HERE = os.path.dirname(os.path.abspath(__file__))
TESTBED, SOLVED = "/testbed", "/swequarry-solved"
PYTHON = "/opt/swequarry/env/bin/python"
PATCH, REWARDS = "/logs/artifacts/agent.patch", "/logs/verifier"
USER = 1000
MAX_PROCESSES, MAX_REPORT, MAX_FILE, TAIL = 20, 256 << 20, 4 << 30, 64 << 10
CONFIG = re.compile(r"conftest\.py|\.?pytest\.(ini|toml)|tox\.ini|setup\.cfg|pyproject\.toml|\.gitattributes")
STARTUP = re.compile(
    r"(site|user)customize(\..*)?|.*\.(pth|egg-link|egg|whl|py[cod]|so|pyd|dll|dylib|o|a|exe)(\.[0-9.]+)?"
    r"|\.pdbrc|pyvenv\.cfg"
)
STARTUP_FOLDER = re.compile(r".*\.(dist-info|egg-info|egg)|(site|user)customize|egg-info|__pycache__")
TEST_FOLDER = re.compile(r"tests?", re.IGNORECASE)
TEST_NAME = re.compile(r"(tests?_[^/]*|[^/]*_tests?|tests?)\.py", re.IGNORECASE)
MODULE = re.compile(r"([A-Za-z_]\w*)(\.py|\.[\w.-]*so)?")


def read(name):
    with open(os.path.join(HERE, name), "rb") as stream:
        return stream.read()


TASK = json.loads(read("task.json").decode("ascii"))
RECORDER = read("recorder.py").decode("ascii")


# --- programs of the checkout ---------------------------------------------------------------------------


def become_user():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (MAX_FILE, MAX_FILE))
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(USER)
        os.setuid(USER)


def variables(more=()):
    try:
        account = pwd.getpwuid(USER)
        name, home = account.pw_name, account.pw_dir
    except KeyError:
        name, home = "sandbox", "/home/sandbox"
    found = {"HOME": home, "USER": name, "LOGNAME": name, "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "TZ": "UTC"}
    found["PATH"] = "/opt/swequarry/env/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
    found.update(GIT_CONFIG_NOSYSTEM="1", GIT_CONFIG_GLOBAL=os.devnull) if more == "git" else None
    found.update(TASK["variables"] if more == "tests" else {})
    return found


def git(*words, **options):
    argv = ["git", "--no-replace-objects", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"]
    done = subprocess.run(
        argv + list(words),
        check=False,
        cwd=TESTBED,
        input=options.get("stdin", b""),
        stdout=subprocess.PIPE,
        env=dict(variables("git"), **options.get("env", {})),
        preexec_fn=become_user,
    )
    if done.returncode != 0 and not options.get("may_fail"):
        raise RuntimeError("git %s ended with %d" % (words[0], done.returncode))
    return done.stdout if done.returncode == 0 else None


def end_processes():
    """Kill what a run left behind."""
    for _ in range(5):
        found = 0
        for name in os.listdir("/proc"):
            try:
                if name.isdigit() and os.stat("/proc/" + name).st_uid == USER != os.getuid():
                    os.kill(int(name), signal.SIGKILL)
                    found += 1
            except OSError:
                continue
        if not found:
            return
        time.sleep(0.05)


def run(program, start, limit_s):
    """Run a program for the report channel; return what it reported and its exit status."""
    inner, outer = os.pipe()[::-1]
    source = tempfile.TemporaryFile()
    source.write(program.encode("ascii"))
    source.seek(0)
    output = tempfile.TemporaryFile()

    def prepare():
        os.dup2(inner, 3)
        become_user()

    process = subprocess.Popen(
        [PYTHON] + TASK["flags"] + ["-c", start],
        cwd=TESTBED,
        env=variables("tests"),
        stdin=source,
        stdout=output,
        stderr=subprocess.STDOUT,
        close_fds=False,
        preexec_fn=prepare,
    )
    os.close(inner)
    raw, deadline = b"", time.time() + limit_s
    while len(raw) < MAX_REPORT and time.time() < deadline:
        gone = process.poll() is not None
        ready = select.select([outer], [], [], 0 if gone else 0.2)[0]
        data = os.read(outer, 1 << 16) if ready else b""
        raw += data
        if (ready and not data) or (gone and not ready):
            break
    if time.time() >= deadline:
        process.kill()
    status = process.wait()
    end_processes()
    os.close(outer)
    output.seek(max(0, output.seek(0, os.SEEK_END) - TAIL))
    sys.stdout.buffer.write(output.read())
    sys.stdout.flush()
    return raw, status


def survey():
    raw, status = run(read("survey.py").decode("ascii"), TASK["plain_start"], 120)
    if status != 0:
        raise RuntimeError("the environment's Python doesn't start")
    return json.loads(raw.decode("ascii"))


def run_tests(world, targets):
    """Run test files to their end, however many processes that takes; return the ids that passed."""
    passed, skip = set(), set(TASK["leave_out"])
    guard = dict(TASK["guard"], plugins=world["plugins"], roots=world["roots"])
    deadline = time.time() + TASK["wall_s"]
    for _ in range(MAX_PROCESSES):
        config = dict(TASK["config"], targets=targets, skip=sorted(skip), nonce=os.urandom(16).hex())
        orders = "import json\nconfig = json.loads(%r)\nguard = json.loads(%r)\n"
        orders %= json.dumps(config), json.dumps(guard)
        raw, status = run(orders + RECORDER, TASK["start"], deadline - time.time())
        report = read_report(raw, config["nonce"], status)
        passed |= report.passed
        done = report.finished | ({report.running} - {None})
        if (report.ended and report.running is None) or not done or time.time() >= deadline:
            return passed
        skip |= done
    return passed


# --- files ----------------------------------------------------------------------------------------------


def tracked(*words):
    return {os.fsdecode(name) for name in git(*(words + ("-z",))).split(b"\0")[:-1]}


def solver_patch():
    """Return the solver's work: handed over, or taken from its checkout by git of our own."""
    if not os.path.isdir(SOLVED):
        with open(PATCH, "rb") as stream:
            return stream.read()
    index = tempfile.mkdtemp(prefix="swequarry-")
    os.chown(index, USER, USER)
    env = {"GIT_WORK_TREE": SOLVED, "GIT_DIR": TESTBED + "/.git", "GIT_INDEX_FILE": index + "/index"}
    git("add", "--all", ".", env=env)
    words = ("diff-index", "--cached", "--binary", "--full-index", "--no-ext-diff", "--no-textconv", "-p")
    return git(*(words + (TASK["base_commit"], "--")), env=env)


class Rules:
    """Which files a solver may not decide about."""

    def __init__(self, world, base):
        self.base, self.names = base, set(world["names"])
        beside = {os.path.dirname(path) for path in TASK["config"]["targets"]}
        self.beside = beside
        self.roots = {"", "src", "lib"} | {"" if root == "." else root for root in world["roots"]}
        for folder in beside:
            parts = folder.split("/")
            self.roots |= {"/".join(parts[:end]) for end in range(len(parts) + 1)}
        self.test_folders = {
            self.test_folder(path) for path in base if TEST_NAME.match(path.rsplit("/", 1)[-1])
        } - {None}

    @staticmethod
    def test_folder(path):
        parts = path.split("/")
        for end in range(1, len(parts)):
            if TEST_FOLDER.fullmatch(parts[end - 1]):
                return "/".join(parts[:end])
        return None

    def protected(self, path):
        folder, _, name = path.rpartition("/")
        if CONFIG.fullmatch(name.lower()):
            return True
        if path in TASK["gold_files"]:
            return False
        parts = path.split("/")
        if STARTUP.fullmatch(name.lower()) or any(
            STARTUP_FOLDER.fullmatch(part.lower()) for part in parts[:-1]
        ):
            return True
        if os.path.islink(os.path.join(TESTBED, path)) or self.shadows(parts):
            return True
        if self.test_folder(path) in self.test_folders:
            return True
        return TEST_NAME.fullmatch(name) is not None and (path in self.base or folder in self.beside)

    def shadows(self, parts):
        """Whether a new file makes a top-level module of a name that the environment has."""
        for place, part in enumerate(parts):
            folder, match = "/".join(parts[:place]), MODULE.fullmatch(part)
            if match is None or folder not in self.roots or match.group(1) not in self.names:
                continue
            start = (folder + "/" if folder else "") + match.group(1)
            if not any(known == start + ".py" or known.startswith(start + "/") for known in self.base):
                return True
        return False


def restore(paths, base):
    """Give some paths the state of the base commit."""
    for path in paths:
        whole = os.path.join(TESTBED, path)
        if path not in base and (os.path.isfile(whole) or os.path.islink(whole)):
            os.unlink(whole)
    back = sorted(set(paths) & base)
    if back:
        listed = b"".join(os.fsencode(path) + b"\0" for path in back)
        git("checkout-index", "--force", "-z", "--stdin", stdin=listed)


def apply(patch):
    """Apply a patch to the checkout; whether it could be."""
    if not patch.strip():
        return True
    return git("apply", "--whitespace=nowarn", "-", stdin=patch, may_fail=True) is not None


def prepare(patch, world):
    """Put the solver's files and the hidden tests in place; None, or why there is nothing to run."""
    base, loose = tracked("ls-files"), tracked("ls-files", "--others")
    if not apply(patch):
        return "the patch doesn't apply to the base commit"
    git("update-index", "-q", "--refresh", may_fail=True)
    changed = tracked("diff-files", "--name-only") | (tracked("ls-files", "--others") - loose)
    rules = Rules(world, base)
    restore([path for path in changed if rules.protected(path)] + TASK["test_paths"], base)
    for name in ("trusted.patch", "test.patch"):
        if not apply(read(name)):
            return "the hidden tests don't apply beside the solver's files"
    return None


# --- the reward -----------------------------------------------------------------------------------------


def grade():
    """Return the reward, the reason, and the tests that had to pass and didn't."""
    patch, world = solver_patch(), survey()
    problem = prepare(patch, world)
    if problem is not None:
        return 0, problem, []
    passed = run_tests(world, TASK["config"]["targets"])
    failed = [test for test in TASK["fail_to_pass"] + TASK["pass_to_pass"] if test not in passed]
    if failed:
        return 0, "tests don't pass", failed
    return 1, "all tests pass", []


def write(name, data):
    path = os.path.join(REWARDS, name)
    with open(path + ".part", "w") as stream:
        json.dump(data, stream)
    os.rename(path + ".part", path)


if __name__ == "__main__":
    try:
        reward, reason, tests = grade()
    except UnsoundError as error:
        reward, reason, tests = 0, "the report of the tests isn't sound: %s" % error, []
    end_processes()
    write("report.json", {"reward": reward, "reason": reason, "tests": tests})
    write("reward.json", {"reward": float(reward)})
    print("reward %d: %s %s" % (reward, reason, " ".join(tests[:20])))
