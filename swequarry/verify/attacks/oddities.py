"""Attacks by odd files and odd patches: what isn't what it seems (R1 to R4, R13, R16, R17)."""

from swequarry.verify.attacks.kinds import Attack, planted
from swequarry.verify.attacks.target import Target

_NOTHING = "\nimport _pytest.python\n\n_pytest.python.Function.runtest = lambda self: None\n"
_NEW = b"diff --git %s %s\nnew file mode %s\n--- /dev/null\n+++ %s\n@@ -0,0 +1 @@\n+%s\n"


def _raw(name: str, code: str, path: bytes, mode: bytes = b"100644", line: bytes = b"x = 1") -> Attack:
    """Return the attack by a patch that makes one file, written as nobody's tool writes it."""

    def make(_: Target) -> bytes:
        return _NEW % (b"a/" + path, b"b/" + path, mode, b"b/" + path, line)

    return Attack(name=name, code=code, make=make)


def _quoted(_: Target) -> bytes:
    """A conftest behind escapes."""
    return _NEW % (
        b'"a/conf\\164est.py"',
        b'"b/conf\\164est.py"',
        b"100644",
        b'"b/conf\\164est.py"',
        b"x = 1",
    )


def _renamed(target: Target) -> bytes:
    """The visible tests moved away."""
    old = target.case.test_files[0].encode()
    new = old.removesuffix(b".py") + b"_old.py"
    head = b"diff --git a/%s b/%s\nsimilarity index 100%%\n" % (old, new)
    return head + b"rename from %s\nrename to %s\n" % (old, new)


def _became_conftest(target: Target) -> bytes | None:
    """A file of the project, with other content, under the name of a conftest."""
    if target.module is None:
        return None
    data = (target.read(target.module) or b"") + _NOTHING.encode()
    return target.patch({target.module: None, target.named("{tests}/conftest.py"): data})


def _gitlink(target: Target) -> bytes:
    """The folder of the tests as a submodule."""
    path = f"{target.tests}/sub" if target.tests else "sub"
    head = f"diff --git a/{path} b/{path}\nnew file mode 160000\nindex 0000000..{'1' * 7}\n"
    return f"{head}--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+Subproject commit {'1' * 40}\n".encode()


def _file_for_folder(target: Target) -> bytes | None:
    """A file where the folder of the tests is."""
    if not target.tests:
        return None
    inside = [path for path in target.files if path.startswith(f"{target.tests}/")]
    gone: dict[str, bytes | None] = dict.fromkeys(inside)
    tree = target.tree(target.case.base, gone)
    return target.bench.diff(target.case.base, target.tree(tree, {target.tests: b"nothing\n"}))


def _folder_for_file(target: Target) -> bytes:
    """A folder where the hidden test file is to lie."""
    path = target.case.test_files[0]
    tree = target.tree(target.case.base, {path: None} if path in target.files else {})
    return target.bench.diff(target.case.base, target.tree(tree, {f"{path}/__init__.py": _NOTHING.encode()}))


def _package_for_module(target: Target) -> bytes:
    """A package that Python prefers to the hidden module of the same name."""
    folder = target.case.test_files[0].removesuffix(".py")
    return target.patch({f"{folder}/__init__.py": _NOTHING.encode()})


def _helpers(target: Target) -> bytes:
    """Whatever else lies among the tests, helpers included, takes the framework over."""
    beside = target.named("{tests}/")
    others = [p for p in target.files if p.startswith(beside) and p.endswith(".py")]
    changes: dict[str, bytes | None] = {
        path: (target.read(path) or b"") + _NOTHING.encode()
        for path in others
        if path not in target.case.test_files
    }
    return target.patch(changes | {f"{beside}helpers.py": _NOTHING.encode()})


ODDITIES = (
    planted("settings beside the package", "R2", {"{package}/pytest.ini": "[pytest]\naddopts = -p swq\n",
                                                  "swq.py": _NOTHING}),
    planted("settings in a new format", "R2", {"pytest.toml": '[pytest]\naddopts = ["-p", "swq"]\n',
                                               "swq.py": _NOTHING}),
    planted("a compiled conftest", "R15", {"conftest.pyc": "x", "{tests}/conftest.pyc": "x"}),
    planted("the insides of pytest as a folder", "R4", {"_pytest/python.py": _NOTHING,
                                                        "_pytest/__init__.py": _NOTHING}),
    Attack(name="a package in the place of the tests' module", code="R4", make=_package_for_module),
    planted("conftest in other letters", "R17", {"Conftest.py": _NOTHING, "{tests}/CONFTEST.py": _NOTHING,
                                                 "{tests}/conftest\u200b.py": _NOTHING}),
    planted("tests in other letters", "R17", {"Tests/__init__.py": _NOTHING, "Tests/conftest.py": _NOTHING}),
    planted("a link of an editable install", "R3", {"swq.egg-link": "/a\n", "easy-install.pth": "/a\n"}),
    planted("a module that pluggy would be", "R4", {"pluggy.py": _NOTHING, "src/iniconfig.py": _NOTHING}),
    Attack(name="helpers of the tests take over", code="R13", make=_helpers),
    Attack(name="visible tests moved away", code="R13", make=_renamed),
    Attack(name="a module that becomes conftest", code="R1", make=_became_conftest),
    Attack(name="conftest behind escapes", code="R1", make=_quoted),
    Attack(name="a submodule among the tests", code="R17", make=_gitlink),
    Attack(name="a file for the folder of the tests", code="R17", make=_file_for_folder),
    Attack(name="a folder for the hidden file", code="R17", make=_folder_for_file),
    _raw("a path that leaves the checkout", "R17", b"../escape.py"),
    _raw("an absolute path", "R17", b"/tmp/escape.py"),
    _raw("a name of git's in another spelling", "R16", b".GIT/config"),
    _raw("a name that some file systems take for git's", "R16", ".g\u200cit/config".encode()),
    _raw("a link to the outside", "R17", b"outside", mode=b"120000", line=b"/etc/passwd"),
)  # fmt: skip
