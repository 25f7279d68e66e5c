"""The filter is run here by an interpreter of classic BPF: what it answers is tested, not how it is laid out."""

import errno
import struct

import pytest

from swequarry.sandbox.seccomp import filter_program

ALLOW, EPERM, ENOSYS = 0x7FFF0000, 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOSYS
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}


def answer(machine: str, number: int, *arguments: int, architecture: int | None = None) -> int:
    program = filter_program(machine)
    assert program is not None
    code = [struct.unpack_from("=HBBI", program, at) for at in range(0, len(program), 8)]
    padded = (*arguments, *[0] * (6 - len(arguments)))
    data = struct.pack("=IIQ6Q", number, architecture or ARCHITECTURES[machine], 0, *padded)
    at, word = 0, 0
    while True:
        operation, if_true, if_false, operand = code[at]
        at += 1
        if operation == 0x20:
            word = struct.unpack_from("=I", data, operand)[0]
        elif operation == 0x06:
            return operand
        else:
            holds = {0x15: word == operand, 0x35: word >= operand, 0x45: bool(word & operand)}[operation]
            at += if_true if holds else if_false


@pytest.mark.parametrize(
    "machine, calls",
    [
        (
            "x86_64",
            {"ptrace": 101, "mount": 165, "keyctl": 250, "bpf": 321, "setns": 308, "userfaultfd": 323},
        ),
        (
            "aarch64",
            {"ptrace": 117, "mount": 40, "keyctl": 219, "bpf": 280, "setns": 268, "userfaultfd": 282},
        ),
    ],
)
def test_ways_out_are_refused_on_each_machine(machine: str, calls: dict[str, int]) -> None:
    assert {name: answer(machine, number) for name, number in calls.items()} == dict.fromkeys(calls, EPERM)
    assert answer(machine, 425) == EPERM, "io_uring_setup"
    assert answer(machine, 435) == ENOSYS, "clone3: the C library must fall back"


@pytest.mark.parametrize("machine, clone, unshare", [("x86_64", 56, 272), ("aarch64", 220, 97)])
def test_threads_are_let_through_and_namespaces_are_not(machine: str, clone: int, unshare: int) -> None:
    thread = 0x3D0F00
    assert answer(machine, clone, thread) == ALLOW
    assert answer(machine, clone, 17) == ALLOW, "fork"
    for flag in (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000):
        assert answer(machine, clone, flag | 17) == EPERM
        assert answer(machine, unshare, flag) == EPERM
    assert answer(machine, unshare, 0x200) == ALLOW, "CLONE_FS alone makes no namespace"


@pytest.mark.parametrize("machine, ioctl", [("x86_64", 16), ("aarch64", 29)])
def test_keystrokes_cannot_be_pushed_into_a_terminal(machine: str, ioctl: int) -> None:
    assert answer(machine, ioctl, 0, 0x5412) == EPERM
    assert answer(machine, ioctl, 0, (1 << 32) | 0x5412) == EPERM, "the kernel looks at the low word only"
    assert answer(machine, ioctl, 0, 0x5401) == ALLOW


@pytest.mark.parametrize(
    "machine, number", [("x86_64", 41), ("x86_64", 53), ("aarch64", 198), ("aarch64", 199)]
)
def test_socket_that_no_network_namespace_holds_is_refused(machine: str, number: int) -> None:
    unsupported = 0x00050000 | errno.EAFNOSUPPORT
    assert {family: answer(machine, number, family) for family in (1, 2, 10, 16)} == dict.fromkeys(
        (1, 2, 10, 16), ALLOW
    )
    for family in (17, 21, 29, 30, 31, 38, 40, 42, 44):
        assert answer(machine, number, family) == unsupported, family
        assert answer(machine, number, (1 << 32) | family) == unsupported, "the kernel looks at the low word"


def test_everyday_calls_pass() -> None:
    for number in (0, 1, 2, 9, 41, 59, 61, 202, 257, 334):
        assert answer("x86_64", number) == ALLOW


def test_calls_of_another_architecture_do_not_slip_through() -> None:
    assert answer("x86_64", 101, architecture=0x40000003) == ENOSYS
    assert answer("x86_64", 0x40000000 | 101) == ENOSYS, "the x32 numbers"


def test_unknown_machine_has_no_filter_rather_than_a_wrong_one() -> None:
    assert filter_program("riscv64") is None
