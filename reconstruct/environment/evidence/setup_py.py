"""setup.py, read and never run."""

import ast
import re
from collections.abc import Iterator
from typing import Any, Final

from reconstruct.environment.evidence.executed import fill_executed
from reconstruct.environment.evidence.model import Group, Metadata, Origin, PythonHint
from reconstruct.environment.evidence.requirement_files import read_requirement_file
from reconstruct.environment.evidence.requirement_lines import Kind, parse_requirement_text
from reconstruct.environment.evidence.static_values import StaticModule, parse_python
from reconstruct.environment.evidence.tree import Notebook, SourceTree, inside
from reconstruct.environment.evidence.versions import classifier_version, python_requirement

PATH: Final = "setup.py"
_NAME: Final = re.compile(r"""\bname\s*=\s*['"]([\w.-]+)['"]""")
_CLASSIFIERS: Final = re.compile(r"Programming Language :: Python :: \d\.\d+")
_PYTHON_REQUIRES: Final = re.compile(r"""python_requires\s*=\s*['"]([^'"\n]+)['"]""")


def read_setup_py(tree: SourceTree, notes: Notebook) -> Metadata:
    """Return what the call of `setup` says, as far as it is written in literals."""
    text = tree.read(PATH, notes)
    if text is None:
        return Metadata()
    module = parse_python(text)
    if isinstance(module, str):
        notes.broken(PATH, module)
        return _from_text(text, notes)
    call, function = _find_setup(module)
    if call is None:
        return Metadata(is_package=True)
    static = StaticModule(lambda name: _requirements_named(name, tree, notes))
    static.run(module.body)
    if function is not None:
        static.run(function.body)
    fill_executed(module, static, tree, notes)
    return _from_arguments(dict(_arguments(call, static)), call, text, notes)


def _find_setup(module: ast.Module) -> tuple[ast.Call | None, ast.FunctionDef | None]:
    """The call of `setup` and the function that holds it, None where it is at the top."""
    for statement in module.body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Call) and _called(node) == "setup":
                return node, statement if isinstance(statement, ast.FunctionDef) else None
    return None, None


def _called(call: ast.Call) -> str:
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def _arguments(call: ast.Call, static: StaticModule) -> Iterator[tuple[str, Any]]:
    for keyword in call.keywords:
        value = static.value(keyword.value)
        if keyword.arg is not None:
            yield keyword.arg, value
        elif isinstance(value, dict):
            yield from ((str(key), inner) for key, inner in value.items())


def _from_arguments(arguments: dict[str, Any], call: ast.Call, text: str, notes: Notebook) -> Metadata:
    line = call.lineno
    name, version = _text(arguments.get("name")), _text(arguments.get("version"))
    spec = _text(arguments.get("python_requires"))
    for key, value in (("name", name), ("version", version), ("requires_python", spec)):
        if value:
            notes.note(key, value, PATH, line)
    setup_requires = _requirements(arguments.get("setup_requires"))
    groups = _groups(arguments)
    dependencies = _requirements(arguments.get("install_requires"))
    for key, values in [("dependency", dependencies)] + [
        (f"{g.origin}:{g.name}", g.requirements) for g in groups
    ]:
        for value in values:
            notes.note(key, value, PATH, line)
    return Metadata(
        name=name,
        version=version,
        requires_python=python_requirement(spec) if spec else (),
        pythons=_classifiers(_texts(arguments.get("classifiers")), notes, text),
        dependencies=dependencies,
        groups=groups,
        build_requires=setup_requires,
        version_source=_version_source(arguments, setup_requires, text),
        is_package=True,
    )


def _groups(arguments: dict[str, Any]) -> tuple[Group, ...]:
    found = []
    tests = _requirements(arguments.get("tests_require"))
    if tests:
        found.append(Group(origin=Origin.TESTS_REQUIRE, name="tests_require", requirements=tests))
    extras = arguments.get("extras_require")
    for name, value in extras.items() if isinstance(extras, dict) else ():
        extra, _, condition = str(name).partition(":")
        if extra and not condition:
            found.append(Group(origin=Origin.EXTRA, name=extra, requirements=_requirements(value)))
    return tuple(found)


def _version_source(arguments: dict[str, Any], setup_requires: tuple[str, ...], text: str) -> str | None:
    names = " ".join(setup_requires).lower().replace("-", "_")
    if "use_scm_version" in arguments or "setuptools_scm" in names:
        return "setuptools_scm"
    if "pbr" in arguments:
        return "pbr"
    return "versioneer" if "versioneer.get_version" in text else None


def _classifiers(classifiers: list[str], notes: Notebook, text: str) -> tuple[PythonHint, ...]:
    hints = []
    for classifier in classifiers or _CLASSIFIERS.findall(text):
        if version := classifier_version(classifier):
            line = text.count("\n", 0, max(text.find(classifier), 0)) + 1
            notes.note("classifier", version, PATH, line)
            hints.append(PythonHint(version=version, origin=Origin.CLASSIFIER))
    return tuple(dict.fromkeys(hints))


def _requirements(value: Any) -> tuple[str, ...]:
    texts = "\n".join(_texts(value))
    return tuple(
        dict.fromkeys(line.text for line in parse_requirement_text(texts) if line.kind is Kind.NAMED)
    )


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return value.splitlines()
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _text(value: Any) -> str | None:
    return value.strip() if isinstance(value, str) and value.strip() else None


def _requirements_named(name: str, tree: SourceTree, notes: Notebook) -> list[str] | None:
    """The requirements of the file that a literal names, at the root or in a folder `requirements`."""
    if not name.endswith((".txt", ".in", ".pip")) or len(name) > 200:  # noqa: PLR2004
        return None
    for folder in ("", "requirements"):
        path = inside(folder, name)
        if path is not None and tree.has(path):
            return list(read_requirement_file(path, tree, notes).requirements)
    return None


def _from_text(text: str, notes: Notebook) -> Metadata:
    """What a file that isn't Python 3 still gives away to a plain text search."""
    name, spec = _NAME.search(text), _PYTHON_REQUIRES.search(text)
    if name:
        notes.note("name", name[1], PATH)
    return Metadata(
        name=name[1] if name else None,
        requires_python=python_requirement(spec[1]) if spec else (),
        pythons=_classifiers([], notes, text),
        version_source=_version_source({}, (), text),
        is_package=True,
    )
