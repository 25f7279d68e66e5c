"""The system call filter of both backends, compiled to classic BPF without any library.

The filter refuses what no test suite needs and what has led out of containers before: other namespaces and
mounts, kernel modules and keys, BPF, perf, io_uring, reading other processes, setting the clock, pushing
keystrokes into a terminal, sockets of rare families (AF_VSOCK is held by no network namespace: it leads from
a virtual machine to its host). Refused calls fail with EPERM, sockets with EAFNOSUPPORT. `clone3` fails with
ENOSYS, so that the C library falls back to `clone`, whose flags can be seen (a filter can't follow pointers).
Everything else is allowed, AF_NETLINK included: the network namespace is the sandbox's own.

Layout of `struct seccomp_data`: seccomp(2). Instruction codes: linux/filter.h.
"""

import errno
import platform
import struct
from functools import cache

_LOAD_WORD, _JUMP_EQUAL, _JUMP_GREATER_EQUAL, _JUMP_SET, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_AT_NUMBER, _AT_ARCHITECTURE, _AT_ARGUMENT_0, _AT_ARGUMENT_1 = 0, 4, 16, 24
_X32_BIT = 0x40000000

_NAMESPACE_FLAGS = 0x7E020080
"""CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET and NEWTIME."""
_TERMINAL_INPUT = (0x5412, 0x541C)
"""The ioctl requests TIOCSTI and TIOCLINUX."""

_SOCKET_FAMILIES = (0, 1, 2, 10, 16)
"""Let through: AF_UNSPEC (which the kernel itself refuses), AF_UNIX, AF_INET, AF_INET6, AF_NETLINK."""

_COMMON = {
    "clone3": 435,
    "fsconfig": 431,
    "fsmount": 432,
    "fsopen": 430,
    "fspick": 433,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "io_uring_setup": 425,
    "mount_setattr": 442,
    "move_mount": 429,
    "open_tree": 428,
    "pidfd_getfd": 438,
    "quotactl_fd": 443,
}
_X86_64 = {
    "acct": 163,
    "add_key": 248,
    "bpf": 321,
    "chroot": 161,
    "clock_adjtime": 305,
    "clock_settime": 227,
    "clone": 56,
    "delete_module": 176,
    "fanotify_init": 300,
    "finit_module": 313,
    "init_module": 175,
    "ioctl": 16,
    "ioperm": 173,
    "iopl": 172,
    "kcmp": 312,
    "kexec_file_load": 320,
    "kexec_load": 246,
    "keyctl": 250,
    "lookup_dcookie": 212,
    "mount": 165,
    "nfsservctl": 180,
    "open_by_handle_at": 304,
    "perf_event_open": 298,
    "pivot_root": 155,
    "process_vm_readv": 310,
    "process_vm_writev": 311,
    "ptrace": 101,
    "quotactl": 179,
    "reboot": 169,
    "request_key": 249,
    "setns": 308,
    "socket": 41,
    "socketpair": 53,
    "settimeofday": 164,
    "swapoff": 168,
    "swapon": 167,
    "syslog": 103,
    "umount2": 166,
    "unshare": 272,
    "uselib": 134,
    "userfaultfd": 323,
    "vhangup": 153,
}
_AARCH64 = {
    "acct": 89,
    "add_key": 217,
    "bpf": 280,
    "chroot": 51,
    "clock_adjtime": 266,
    "clock_settime": 112,
    "clone": 220,
    "delete_module": 106,
    "fanotify_init": 262,
    "finit_module": 273,
    "init_module": 105,
    "ioctl": 29,
    "kcmp": 272,
    "kexec_file_load": 294,
    "kexec_load": 104,
    "keyctl": 219,
    "lookup_dcookie": 18,
    "mount": 40,
    "nfsservctl": 42,
    "open_by_handle_at": 265,
    "perf_event_open": 241,
    "pivot_root": 41,
    "process_vm_readv": 270,
    "process_vm_writev": 271,
    "ptrace": 117,
    "quotactl": 60,
    "reboot": 142,
    "request_key": 218,
    "setns": 268,
    "socket": 198,
    "socketpair": 199,
    "settimeofday": 170,
    "swapoff": 225,
    "swapon": 224,
    "syslog": 116,
    "umount2": 39,
    "unshare": 97,
    "userfaultfd": 282,
    "vhangup": 58,
}
_MACHINES = {"x86_64": (0xC000003E, _X86_64), "aarch64": (0xC00000B7, _AARCH64)}
_LOOKED_INTO = ("clone", "clone3", "ioctl", "socket", "socketpair", "unshare")


def _instruction(code: int, operand: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, operand)


def _refuse(error: int) -> bytes:
    return _instruction(_RETURN, _ERRNO | error)


def _refuse_number(number: int, error: int) -> bytes:
    return _instruction(_JUMP_EQUAL, number, 0, 1) + _refuse(error)


def _inspect(number: int, argument: int, tests: bytes) -> bytes:
    """Run tests on an argument's low word where the call has this number; end the filter there."""
    body = _instruction(_LOAD_WORD, argument) + tests + _instruction(_RETURN, _ALLOW)
    return _instruction(_JUMP_EQUAL, number, 0, len(body) // 8) + body


def _compile(architecture: int, numbers: dict[str, int]) -> bytes:
    program = [
        _instruction(_LOAD_WORD, _AT_ARCHITECTURE),
        _instruction(_JUMP_EQUAL, architecture, 1, 0),
        _refuse(errno.ENOSYS),
        _instruction(_LOAD_WORD, _AT_NUMBER),
    ]
    if numbers is _X86_64:
        program += [_instruction(_JUMP_GREATER_EQUAL, _X32_BIT, 0, 1), _refuse(errno.ENOSYS)]
    program.append(_refuse_number(_COMMON["clone3"], errno.ENOSYS))
    for name, number in sorted((numbers | _COMMON).items()):
        if name not in _LOOKED_INTO:
            program.append(_refuse_number(number, errno.EPERM))
    namespaces = _instruction(_JUMP_SET, _NAMESPACE_FLAGS, 0, 1) + _refuse(errno.EPERM)
    keystrokes = b"".join(_refuse_number(request, errno.EPERM) for request in _TERMINAL_INPUT)
    families = b"".join(
        _instruction(_JUMP_EQUAL, family, 0, 1) + _instruction(_RETURN, _ALLOW) for family in _SOCKET_FAMILIES
    )
    families += _refuse(errno.EAFNOSUPPORT)
    program += [
        _inspect(numbers["socket"], _AT_ARGUMENT_0, families),
        _inspect(numbers["socketpair"], _AT_ARGUMENT_0, families),
        _inspect(numbers["clone"], _AT_ARGUMENT_0, namespaces),
        _inspect(numbers["unshare"], _AT_ARGUMENT_0, namespaces),
        _inspect(numbers["ioctl"], _AT_ARGUMENT_1, keystrokes),
        _instruction(_RETURN, _ALLOW),
    ]
    return b"".join(program)


@cache
def filter_program(machine: str = platform.machine()) -> bytes | None:
    """Return the filter for a machine as `platform.machine()` names it, None where we have none."""
    if machine not in _MACHINES:
        return None
    return _compile(*_MACHINES[machine])


@cache
def filters() -> dict[str, bytes]:
    """Return the filter of every machine that there is one for: an engine may run on another than ours."""
    return {machine: _compile(*known) for machine, known in _MACHINES.items()}
