"""The leak audit of a docker image: the files of every layer, its history, variables and labels.

A base image is looked at as the host is under bubblewrap: its files by their names, and the contents of those
that are named like a changed module.
"""

from collections.abc import Mapping

from reconstruct.leaks.answer import Answer
from reconstruct.leaks.judge import examine
from reconstruct.leaks.places import (
    file_name_finding,
    is_second_copy,
    metadata_finding,
    recorded_size,
    source_of,
)
from reconstruct.leaks.scan import BaseTree, Scanned, module_file_names, scan_values
from reconstruct.leaks.views import LARGEST, views_of
from swequarry.git.store import blob_id
from swequarry.records import LeakFinding
from swequarry.sandbox.docker_engine import DockerEngine
from swequarry.sandbox.image_audit import BaseLayers, LayerFile, image_values, layer_files, layer_ids

_OWN = ("/testbed/", "/opt/swequarry/", "/tmp/", "/home/", "/root/", "/var/tmp/")  # noqa: S108
"""Where builds write: there n-grams are compared in every file, elsewhere after a line was found."""
_GIT = "/testbed/.git/objects/"


def scan_image(
    engine: DockerEngine, image: str, answer: Answer, base: BaseTree, starts_from: str | None = None
) -> Scanned:
    """Search an image for an answer; `starts_from` is the base image that it was made from, if any.

    Raises:
        SandboxError: the engine doesn't give the image.
    """
    scan = _ImageScan(answer, base)
    ids = layer_ids(engine, starts_from) if starts_from is not None else frozenset()
    for file in layer_files(engine, image, LARGEST, BaseLayers(ids=ids, wanted=scan.wants)):
        scan.see(file)
    return scan.end(image_values(engine, image))


class _ImageScan:
    """Sees each file once; what byte code gives away waits until the sources beside it are known."""

    def __init__(self, answer: Answer, base: BaseTree) -> None:
        self._answer = answer
        self._base = base
        self._sizes: dict[str, set[int]] = {}
        self._code: list[tuple[str, int | None, LeakFinding]] = []
        self._result = Scanned()
        self._names = module_file_names(answer)

    def wants(self, path: str) -> bool:
        """Whether a file of the base image is to be read."""
        return path.rpartition("/")[2] in self._names or is_second_copy(path, self._base.modules)

    def see(self, file: LayerFile) -> None:
        result, base = self._result, self._base
        result.files += 1
        result.size_bytes += file.size_bytes
        if file.path.endswith(".py"):
            self._sizes.setdefault(file.path, set()).add(file.size_bytes)
        if file.path.removeprefix("/testbed/") not in base.files:
            result.note(file_name_finding(file.path, self._answer.names))
            result.note(metadata_finding(file.path, base.project, base.version))
        if file.data is not None and not file.path.startswith(_GIT):
            self._content(file.path, file.data)
        elif file.data is None and not file.of_base:
            result.not_scanned.append(file.path)

    def _content(self, path: str, data: bytes) -> None:
        if path.startswith("/testbed/") and blob_id(data) in self._base.blobs:
            return
        if is_second_copy(path, self._base.modules) and blob_id(data) not in self._base.blobs:
            told = "a module of the project among the installed packages"
            self._result.note(LeakFinding(path=path, kind="copy", evidence=(told,)))
        for view in views_of(path, data):
            if view.data is None:
                self._result.not_scanned.append(view.path)
            finding = examine(view, self._answer, blocks_too=path.startswith(_OWN))
            if finding is not None and source_of(path) is not None:
                self._code.append((path, recorded_size(data), finding))
            else:
                self._result.note(finding)

    def end(self, values: Mapping[str, str]) -> Scanned:
        """Return all findings, in the order of their places."""
        for path, recorded, finding in self._code:
            if recorded not in self._sizes.get(source_of(path) or "", set()):
                self._result.note(finding)
        scan_values(values, self._answer, self._result)
        self._result.findings.sort(key=lambda finding: (finding.path, finding.kind))
        self._result.not_scanned.sort()
        return self._result
