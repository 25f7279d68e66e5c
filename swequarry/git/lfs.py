"""Pointers of Git LFS: small texts in the place of files whose content is kept elsewhere."""

POINTER_MAX_BYTES = 1024
_HEADS = (b"version https://git-lfs.github.com/spec/", b"version https://hawser.github.com/spec/")


def is_lfs_pointer(data: bytes) -> bool:
    """Whether a file is a pointer (Git LFS specification: under 1024 bytes, version line first)."""
    return len(data) < POINTER_MAX_BYTES and data.startswith(_HEADS) and b"\noid sha256:" in data
