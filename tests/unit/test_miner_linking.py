"""Which issues a pull request resolves, by its own words (edge cases B001, B003, B004, B055)."""

import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from miner.linking import (
    _QUOTE_THEN_TEXT,
    _REFERENCE,
    NEGATED,
    TARGET_IS_PULL_REQUEST,
    LinkText,
    _links_of,
    _may_link,
    _merge,
    _parsed_passages,
    find_links,
    visible_passages,
)
from swequarry.records import LinkPlace, RepoRef

REPO = RepoRef(owner="acme", name="widgets")
KEYWORDS = ("close", "closes", "closed", "fix", "fixes", "fixed", "resolve", "resolves", "resolved")


def links(*texts, place=LinkPlace.BODY):
    return find_links([LinkText(place=place, text=text) for text in texts], REPO)


def clear(*texts):
    return [link.number for link in links(*texts) if link.ambiguous is None and link.repo is None]


def test_same_keyword_twice_keeps_both_issues():
    assert clear("Fix #41\nFix #42") == [41, 42]


def test_references_in_title_body_and_commit_count_once_each_in_order():
    texts = [
        LinkText(place=LinkPlace.TITLE, text="Fix #3"),
        LinkText(place=LinkPlace.BODY, text="Closes #1. Fixes #3."),
        LinkText(place=LinkPlace.COMMIT_MESSAGE, text="work\n\nresolves #2, fixes #1"),
    ]
    found = find_links(texts, REPO)
    assert [(link.number, link.place) for link in found] == [
        (3, LinkPlace.TITLE),
        (1, LinkPlace.BODY),
        (2, LinkPlace.COMMIT_MESSAGE),
    ]


@pytest.mark.parametrize("keyword", [*KEYWORDS, "FIXES", "Closes"])
@pytest.mark.parametrize("form", ["{} #7", "{}: #7", "{} : #7", "{} GH-7", "{}\n#7", "**{}** [#7](http://x)"])
def test_every_keyword_and_form_links(keyword, form):
    assert clear(form.format(keyword)) == [7]


@pytest.mark.parametrize(
    "text",
    [
        "prefix #7",
        "suffixes #7",
        "fixing #7",
        "see #7",
        "Fixes#7",
        "closes #0",
        "fixes #000080",
        "fixes #7a",
        "fixes #7/comments",
        "fixes 7",
        "Fixes \\#7",
        "un-fixed #7",
    ],
)
def test_what_only_looks_like_a_reference_links_nothing(text):
    assert links(text) == ()


TEMPLATE = """\
<!-- Link the issue, e.g. Fixes #1 -->
Bumps libx. <details><code>fix #2: crash on empty row</code></details>
`closes #3` is what the bot writes.
```
#4 0x00007f12 in frob () at frob.c:9
fixes #5
```
> fixes #6
Background is #000080. Closes #7
"""


def test_comments_code_quotes_backtraces_and_colours_never_link():
    assert clear(TEMPLATE) == [7]
    assert [link.number for link in links(TEMPLATE)] == [7]


HIDING = [
    "<!-- {} -->",
    "text <!-- {} --> text",
    "<!-- {}",
    "text <!-- {}",
    "`{}`",
    "``a ` {}``",
    "```\n{}\n```",
    "~~~diff\n{}\n~~~",
    "```\nunterminated\n{}",
    "    {}",
    "> {}",
    "> quoted\n> {}",
    "- item\n\n  > {}",
    "<code>{}</code>",
    "<pre>\n{}\n</pre>",
    "<details><code>{}</code></details>",
    "<blockquote>{}</blockquote>",
    "text <kbd>{}</kbd>",
    "~~{}~~",
    "![{}](http://x/y.png)",
    "<p>a</p>\n<!--\n{}\n-->",
]


@given(st.sampled_from(HIDING), st.sampled_from(KEYWORDS), st.integers(1, 10**6), st.sampled_from(" :"))
def test_hidden_text_links_nothing_whatever_it_says(form, keyword, number, mark):
    text = form.format(f"{keyword}{mark} #{number}")
    assert links(text) == ()


@given(st.sampled_from([h for h in HIDING if "unterminated" not in h and h.count("<!--") == h.count("-->")]))
def test_text_after_the_hidden_one_still_links(form):
    assert clear(form.format("fixes #1") + "\n\nCloses #2") == [2]


@pytest.mark.parametrize(
    "text",
    [
        "Adds logging only. This does not fix #30, see the follow-up.",
        "Filed rather than fixed: #30",
        "This doesn't close #30",
        "This doesn\u2019t fully fix #30",
        "Never closes #30",
        "partially fixes #30",
        'Revert "Fix #30"',
        "Without it nothing fixes #30",
        "It fails to fix #30",
    ],
)
def test_negated_sentence_makes_the_link_ambiguous_and_keeps_it_as_evidence(text):
    (link,) = links(text)
    assert (link.number, link.ambiguous) == (30, NEGATED)
    assert "30" in link.quote


@pytest.mark.parametrize(
    "text",
    [
        "It did not work before. Fixes #30",
        "Why not?\nFixes #30",
        "This is not only nicer but also, as asked for by many of our users, fixes #30",
        "not only fixes #30",
        "`not` fixes #30",
    ],
)
def test_negation_elsewhere_leaves_the_link_clear(text):
    assert clear(text) == [30]


def test_issue_both_negated_and_closed_is_ambiguous():
    (link,) = links("Fixes #30", "This does not fix #30")
    assert link.ambiguous == NEGATED


def test_other_repositories_are_named_and_ours_is_recognised_by_url():
    found = links(
        "Fixes other/repo#5, closes https://github.com/Acme/Widgets/issues/6, resolves acme/widgets#8"
        " and closes https://github.com/acme/widgets/pull/9"
    )
    assert [(link.number, link.repo, link.ambiguous) for link in found] == [
        (5, "other/repo", None),
        (6, None, None),
        (8, None, None),
        (9, None, TARGET_IS_PULL_REQUEST),
    ]


@pytest.mark.parametrize(
    "text, numbers",
    [
        ("Fixes #1, #2 and #3.", [1, 2, 3]),
        ("fixes #1, #2, and acme/widgets#3", [1, 2, 3]),
        ("Closes #1 & GH-2\nSee #3", [1, 2]),
        ("Fixes #1, #2 is a follow-up", [1]),
        ("Fixes #1 and we should see #2", [1]),
        ("Fixes #1 (see #2)", [1]),
        ("Fixes #1; #2 stays open", [1]),
    ],
)
def test_every_member_of_a_list_is_linked_and_no_bystander(text, numbers):
    found = links(text)
    assert [link.number for link in found] == numbers
    assert [link.confidence for link in found] == ["stated", *["inferred"] * (len(numbers) - 1)]


def test_negated_list_is_ambiguous_as_a_whole():
    assert [link.ambiguous for link in links("This does not fix #1 and #2.")] == [NEGATED, NEGATED]


def test_what_is_stated_somewhere_is_not_only_inferred():
    assert [link.confidence for link in links("Fixes #1, #2", "Fixes #2")] == ["stated", "stated"]


@pytest.mark.parametrize(
    "piece",
    [
        "[",
        "![[",
        "*a **a ",
        "<!--",
        "<",
        "`",
        "`a``",
        "> ",
        "- ",
        "<a ",
        "&",
        "_a__",
        "~",
        "\\",
        "<code>",
        "](",
    ],
)
def test_hostile_markdown_ends_soon(piece):
    started = time.monotonic()
    links(piece * (16_000 // len(piece)) + "\nfixes #1")
    assert time.monotonic() - started < 30


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="fixes #12\n\t<!->`*[]()~\\&;:/é☕\u2028\x00 not", max_size=300))
@example("fixes #1 <!")
@example("<![CDATA[ fixes #1")
@example("<!DOCTYPE [ fixes #1")
def test_any_text_gives_links_and_no_exception(text):
    for link in links(text):
        assert link.number > 0


def links_by_parsing_all(text):
    source = _QUOTE_THEN_TEXT.sub(r"\1\n", text.replace("\r\n", "\n"))
    passages = _parsed_passages(source, lambda _: True)
    return _merge(link for passage in passages for link in _links_of(passage, LinkPlace.BODY, REPO))


PIECES = """\
fixes|fixes #1|closes: #2|, #3|#1|#2|GH-4|not|does not fix #5|a_b|text|[x]|[a](http://x/y)|![#1](x)|_|*|**|__|`|```
~~|<b>|</b>|<code>|</code>|<!-- |-->|<div>|<|>|->|&|&#35;|&amp;|\\|---|===|***|- |* |+ |1. |2) |# |## |> |://|://x/y
Co-authored-by: A B <a_b@c.org>|<a@b>|<a@fixes>|[skip-ci]|[r]: /x|---------|https://github.com/acme/widgets/issues/6|.|:
"""
SPACES = [
    " ",
    " ",
    "\n",
    "\n",
    "\n\n",
    "\r\n",
    "  \n",
    "\n \n",
    "    ",
    "\n ",
    "\t",
    "\r",
    "|",
    "\0",
    "\u2028",
]
STRUCTURED = st.lists(
    st.sampled_from([*PIECES.replace("\n", "|").split("|"), *SPACES]), min_size=1, max_size=16
).map("".join)


@settings(max_examples=1500, deadline=None)
@given(STRUCTURED)
@example("# fixes\n#1")
@example("fixes  \n  #1")
@example("- a\n\n      fixes #1")
@example("title (#5)\n\n* Fixes #1\n\n* `not fixes #2`\n\n---------\n\nCo-authored-by: A <a@b.org>")
@example("<a@fixes>\n#1")
@example("a\r> fixes #1")
@example("- a `b\n- fixes #1` c")
@example("fixes" + " " * 60 + "#1")
@example("x `y\n---\nfixes #1 `")
def test_what_is_read_without_the_parser_gives_the_links_that_parsing_gives(text):
    assert [(n.number, n.ambiguous, n.confidence) for n in links(text)] == [
        (n.number, n.ambiguous, n.confidence) for n in links_by_parsing_all(text)
    ]


@pytest.mark.parametrize(
    "text",
    ["- fixes #1", "* a, fixes #1", "a\n\n- b\n- [x] closes #1\n\nSigned-off-by: A <a@b.org>", " + fixes #1"],
)
def test_quote_has_no_bullet_whether_or_not_the_text_is_parsed(text):
    assert links(text) == links_by_parsing_all(text)
    assert links(text) == links(text + "\n\n| a |\n|---|\n| b |")


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                "fix",
                "es",
                "Closes",
                " ",
                "#",
                "1",
                "**",
                "_",
                "[",
                "](x)",
                "<b>",
                "</b>",
                "&#35;",
                "\n",
                "~~",
                "`",
            ]
        ),
        max_size=12,
    ).map("".join)
)
@example("Fi**xes** #1")
@example("fixes <b>#1</b>")
@example("fixes &#35;1")
def test_a_text_that_is_not_parsed_has_no_reference(text):
    if any(_REFERENCE.search(passage) for passage in visible_passages(text)):
        assert _may_link(text)


def test_message_255_of_a_long_pull_request_is_read():
    texts = [LinkText(place=LinkPlace.COMMIT_MESSAGE, text=f"step {number}") for number in range(254)]
    texts.append(LinkText(place=LinkPlace.COMMIT_MESSAGE, text="Fixes #9"))
    assert [link.number for link in find_links(texts, REPO)] == [9]
