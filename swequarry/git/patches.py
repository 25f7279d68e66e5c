"""placeholder"""


def end_last_line(patch: bytes) -> bytes:
    return patch if patch.endswith(b"\n") else patch + b"\n"
