"""The leak audit of a docker image: the files of every layer, its history, variables and labels."""

from reconstruct.leaks.answer import Answer
from reconstruct.leaks.judge import examine
from reconstruct.leaks.places import file_name_finding, is_second_copy, metadata_finding
from reconstruct.leaks.scan import BaseTree, Scanned, scan_values
from reconstruct.leaks.views import LARGEST, views_of
from swequarry.git.store import blob_id
from swequarry.records import LeakFinding
from swequarry.sandbox.docker_engine import DockerEngine
from swequarry.sandbox.image_audit import LayerFile, image_values, layer_files

_OWN = ("/testbed/", "/opt/swequarry/", "/tmp/", "/home/", "/root/", "/var/tmp/")  # noqa: S108
"""Where builds write: there n-grams are compared in every file, elsewhere after a line was found."""
_GIT = "/testbed/.git/"


def scan_image(engine: DockerEngine, image: str, answer: Answer, base: BaseTree) -> Scanned:
    """Search an image for an answer.

    Raises:
        SandboxError: the engine doesn't give the image.
    """
    result = Scanned()
    for file in layer_files(engine, image, LARGEST):
        result.files += 1
        result.size_bytes += file.size_bytes
        result.note(file_name_finding(file.path, answer.names))
        result.note(metadata_finding(file.path, base.project, base.version))
        if file.data is None:
            result.not_scanned.append(file.path)
        elif not file.path.startswith(_GIT):
            _content(file, file.data, answer, base, result)
    scan_values(image_values(engine, image), answer, result)
    result.findings.sort(key=lambda finding: (finding.path, finding.kind))
    result.not_scanned.sort()
    return result


def _content(file: LayerFile, data: bytes, answer: Answer, base: BaseTree, result: Scanned) -> None:
    if file.path.startswith("/testbed/") and blob_id(data) in base.blobs:
        return
    if is_second_copy(file.path, base.modules) and blob_id(data) not in base.blobs:
        told = "a module of the project among the installed packages"
        result.note(LeakFinding(path=file.path, kind="copy", evidence=(told,)))
    for view in views_of(file.path, data):
        if view.data is None:
            result.not_scanned.append(view.path)
        result.note(examine(view, answer, blocks_too=file.path.startswith(_OWN)))
