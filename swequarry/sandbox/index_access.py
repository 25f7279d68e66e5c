"""The package index from inside a sandbox: where it is, what finds it there, and a command that has it.

A sandbox made with an `index_socket` still has loopback alone; `inside/forward.py` carries one loopback port
to that socket for as long as its command runs. The variables tell pip and uv of that port, and keep them
from the settings that the tree or the person may have.
"""

from collections.abc import Sequence
from importlib import resources

from swequarry.sandbox.contract import INDEX_SOCKET, PYTHON

INDEX_PORT = 3141
INDEX_URL = f"http://127.0.0.1:{INDEX_PORT}/simple/"
INDEX_VARIABLES = {
    "UV_DEFAULT_INDEX": INDEX_URL,
    "UV_NO_CONFIG": "1",
    "UV_PYTHON_DOWNLOADS": "never",
    "PIP_INDEX_URL": INDEX_URL,
    "PIP_CONFIG_FILE": "/dev/null",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "PIP_NO_INPUT": "1",
}


def forward_program() -> bytes:
    """Return the source of the program that carries the port to the socket."""
    return resources.files("swequarry.sandbox.inside").joinpath("forward.py").read_bytes()


def with_index(argv: Sequence[str], python: str = PYTHON) -> tuple[str, ...]:
    """Return a command that runs another one with the index within its reach; nothing is written for it."""
    program = forward_program().decode("utf-8")
    return (python, "-I", "-S", "-c", program, str(INDEX_PORT), INDEX_SOCKET, *argv)
