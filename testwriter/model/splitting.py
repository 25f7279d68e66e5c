"""One file for each test of a file: where a model wrote one good test among bad ones, it isn't lost."""

from tree_sitter import Node

from swequarry.syntax.edits import ByteEdit, edited
from testwriter.model.excerpts import defined_tests


def one_test_each(source: str, most: int = 4) -> tuple[str, ...]:
    """Return the file once for each of its tests with the others taken out; nothing where it has but one.

    What else the file holds stays. Nested tests, which no framework collects, aren't told apart.
    """
    tests = defined_tests(source)
    if not 1 < len(tests) <= most:
        return ()
    spans = [_whole(test) for test in tests]
    data = source.encode()
    found = []
    for kept in range(len(spans)):
        others = [ByteEdit(*span, b"pass\n") for number, span in enumerate(spans) if number != kept]
        try:
            found.append(edited(data, others).decode())
        except ValueError:
            return ()
    return tuple(found)


def _whole(test: Node) -> tuple[int, int]:
    parent = test.parent
    node = parent if parent is not None and parent.type == "decorated_definition" else test
    return node.start_byte, node.end_byte
