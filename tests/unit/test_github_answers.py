"""What each answer of GitHub means (B051: a 403 isn't one thing)."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from miner.sources.githubapi.answers import Verdict, judge

NOW = datetime(2024, 3, 1, tzinfo=UTC)
SECONDARY = json.dumps({"message": "You have exceeded a secondary rate limit. Please wait a few minutes."})


def of(status: int, body: str = "{}", *, graphql: bool = False, **headers: str):
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return judge(status, named, body, now=NOW, graphql=graphql)


def test_primary_limit_is_waited_for_until_its_reset():
    reset = str(int((NOW + timedelta(seconds=30)).timestamp()))
    found = of(403, "{}", x_ratelimit_remaining="0", x_ratelimit_reset=reset)
    assert found.verdict is Verdict.PRIMARY
    assert found.until == NOW + timedelta(seconds=30)


@pytest.mark.parametrize("status", [403, 429])
def test_retry_after_outweighs_the_reset(status):
    reset = str(int((NOW + timedelta(hours=1)).timestamp()))
    found = of(status, SECONDARY, retry_after="5", x_ratelimit_remaining="0", x_ratelimit_reset=reset)
    assert found.verdict is Verdict.SECONDARY
    assert found.until == NOW + timedelta(seconds=5)


def test_retry_after_may_be_a_date():
    found = of(429, SECONDARY, retry_after="Fri, 01 Mar 2024 00:02:00 GMT")
    assert found.until == NOW + timedelta(minutes=2)


@pytest.mark.parametrize(
    "status, body",
    [
        (403, SECONDARY),
        (429, "{}"),
        (403, "<html><body>abuse detection mechanism</body></html>"),
        (403, "<!DOCTYPE html><title>Sorry</title>"),
    ],
)
def test_secondary_limit_without_a_header_names_no_end(status, body):
    found = of(status, body)
    assert found.verdict is Verdict.SECONDARY
    assert found.until is None


def test_forbidden_token_is_refused_at_once_and_not_waited_for():
    body = json.dumps({"message": "Resource not accessible by personal access token"})
    found = of(403, body, x_ratelimit_remaining="4999", x_ratelimit_reset="1")
    assert found.verdict is Verdict.REFUSED
    assert "personal access token" in found.message


def test_limit_that_looks_like_an_absence_is_a_limit():
    reset = str(int((NOW + timedelta(seconds=9)).timestamp()))
    assert of(404, "{}", x_ratelimit_remaining="0", x_ratelimit_reset=reset).verdict is Verdict.PRIMARY
    assert of(404, "{}", x_ratelimit_remaining="7", x_ratelimit_reset=reset).verdict is Verdict.GONE


@pytest.mark.parametrize("status", [404, 410, 451])
def test_gone_is_final(status):
    assert of(status).verdict is Verdict.GONE


@pytest.mark.parametrize("body", ["", "   ", '{"data": {"repo', "<html>hello</html>"])
@pytest.mark.parametrize("graphql", [True, False])
def test_broken_answer_with_status_200_is_asked_again(body, graphql):
    assert of(200, body, graphql=graphql).verdict is Verdict.AGAIN


@pytest.mark.parametrize(
    "status, body, graphql, verdict",
    [
        (500, "{}", False, Verdict.AGAIN),
        (502, "<html>", False, Verdict.AGAIN),
        (502, "<html>", True, Verdict.SMALLER),
        (504, "", True, Verdict.SMALLER),
        (503, "{}", True, Verdict.AGAIN),
        (401, "{}", True, Verdict.BAD_TOKEN),
        (422, "{}", False, Verdict.REFUSED),
        (304, "", False, Verdict.UNCHANGED),
    ],
)
def test_statuses(status, body, graphql, verdict):
    assert of(status, body, graphql=graphql).verdict is verdict


def test_graphql_says_200_and_means_a_limit():
    body = json.dumps({"errors": [{"type": "RATE_LIMITED", "message": "API rate limit exceeded"}]})
    reset = str(int((NOW + timedelta(minutes=7)).timestamp()))
    found = of(200, body, graphql=True, x_ratelimit_reset=reset)
    assert found.verdict is Verdict.PRIMARY
    assert found.until == NOW + timedelta(minutes=7)


def test_graphql_that_ran_out_of_time_is_asked_for_less():
    message = "Something went wrong while executing your query. This may be the result of a timeout"
    body = json.dumps({"data": None, "errors": [{"message": message}]})
    assert of(200, body, graphql=True).verdict is Verdict.SMALLER
    nodes = json.dumps({"errors": [{"type": "MAX_NODE_LIMIT_EXCEEDED", "message": "too many"}]})
    assert of(200, nodes, graphql=True).verdict is Verdict.SMALLER


def test_graphql_with_some_errors_is_used_for_the_rest():
    body = json.dumps(
        {"data": {"repository": {"n1": None}}, "errors": [{"type": "NOT_FOUND", "path": ["n1"]}]}
    )
    found = of(200, body, graphql=True)
    assert found.verdict is Verdict.USE
    assert found.data["data"] == {"repository": {"n1": None}}


def test_wrong_query_is_refused():
    body = json.dumps({"errors": [{"message": "Field 'x' doesn't exist on type 'Query'"}]})
    assert of(200, body, graphql=True).verdict is Verdict.REFUSED


@given(
    st.integers(min_value=200, max_value=599),
    st.dictionaries(
        st.sampled_from(["retry-after", "x-ratelimit-remaining", "x-ratelimit-reset"]), st.text(max_size=8)
    ),
    st.one_of(
        st.text(max_size=60), st.sampled_from(["[]", "null", "1", '{"errors": 1}', '{"errors": [null]}'])
    ),
    st.booleans(),
)
def test_no_answer_whatever_raises(status, headers, body, graphql):
    judge(status, headers, body, now=NOW, graphql=graphql)
