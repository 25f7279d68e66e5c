"""Signs in the last line of a test's error that its cause isn't the code: no network, a full disk."""

import re

_NETWORK = re.compile(
    r"\(network: "  # the recorder found a failed look-up or an unreachable network behind the exception
    r"|Name or service not known|Temporary failure in name resolution|nodename nor servname"
    r"|Network is unreachable|No route to host|getaddrinfo failed|Failed to resolve"
    r"|Could not resolve host|Max retries exceeded with url",
    re.IGNORECASE,
)
_RESOURCES = re.compile(
    r"No space left on device|Disk quota exceeded|can't start new thread|Too many open files"
    r"|BlockingIOError: \[Errno 11\] Resource temporarily unavailable"
    r"|OSError: \[Errno 12\] Cannot allocate memory"
)


def tells_of_network(detail: str) -> bool:
    """Whether an error says that the network would have been needed."""
    return _NETWORK.search(detail) is not None


def tells_of_resources(detail: str) -> bool:
    """Whether an error says that a limit of the machine or the sandbox was met."""
    return _RESOURCES.search(detail) is not None
