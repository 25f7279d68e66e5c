"""The licence at the base commit, from its files (edge case B057)."""

import pytest
from git_building import make_upstream

from miner.licence import LicenceReader
from swequarry.records import TreeSha

MIT = b"""\
Permission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files (the "Software"), to deal
in the Software without restriction, including without limitation the rights
to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all
copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
SOFTWARE.
"""
ISC = b"""\
Permission to use, copy, modify, and/or distribute this software for any
purpose with or without fee is hereby granted, provided that the above
copyright notice and this permission notice appear in all copies.

THE SOFTWARE IS PROVIDED "AS IS" AND THE AUTHOR DISCLAIMS ALL WARRANTIES
WITH REGARD TO THIS SOFTWARE INCLUDING ALL IMPLIED WARRANTIES OF
MERCHANTABILITY AND FITNESS. IN NO EVENT SHALL THE AUTHOR BE LIABLE FOR
ANY SPECIAL, DIRECT, INDIRECT, OR CONSEQUENTIAL DAMAGES OR ANY DAMAGES
WHATSOEVER RESULTING FROM LOSS OF USE, DATA OR PROFITS, WHETHER IN AN
ACTION OF CONTRACT, NEGLIGENCE OR OTHER TORTIOUS ACTION, ARISING OUT OF
OR IN CONNECTION WITH THE USE OR PERFORMANCE OF THIS SOFTWARE.
"""


@pytest.mark.parametrize(
    "files, spdx",
    [
        ({b"LICENSE": b"Widgets\nCopyright (c) 2020 A\nAll yours.\n\n" + MIT}, "MIT"),
        ({b"LICENSE-MIT": MIT, b"LICENSE-ISC": ISC}, "ISC OR MIT"),
        ({b"LICENSE.txt": MIT, b"LICENSE.rst": ISC}, "ISC AND MIT"),
        ({b"COPYING": ISC}, "ISC"),
        ({b"LICENSES/MIT.txt": MIT}, "MIT"),
        ({b"LICENSE": b"This is widgets.\nFor your pleasure.\nSee below.\n\n" + MIT}, "MIT"),
        ({b"LICENSE": b"You may look at it on Tuesdays.\n"}, None),
        ({b"LICENSE": MIT, b"LICENSE.other": b"\xff\x00 secret terms"}, None),
        ({b"a.py": b"x"}, None),
        ({b"docs/LICENSE": MIT}, None),
    ],
)
def test_licence_is_what_the_files_say_and_unknown_stays_unknown(tmp_path, files, spdx):
    upstream = make_upstream(tmp_path)
    licence = LicenceReader(upstream.repository).at(upstream.tree(files))
    assert licence.spdx == spdx
    assert licence.evidence


def test_licence_that_cannot_be_read_is_no_crash(tmp_path):
    upstream = make_upstream(tmp_path)
    licence = LicenceReader(upstream.repository).at(TreeSha("f" * 40))
    assert licence.spdx is None
    assert "can't be read" in licence.evidence


def test_licence_is_that_of_the_commit_not_of_the_newest_one(tmp_path):
    upstream = make_upstream(tmp_path)
    reader = LicenceReader(upstream.repository)
    assert reader.at(upstream.tree({b"LICENSE": MIT})).spdx == "MIT"
    assert reader.at(upstream.tree({b"LICENSE": ISC})).spdx == "ISC"
