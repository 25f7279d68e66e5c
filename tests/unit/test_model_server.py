import json
import sys

import pytest
from scripted_model import NOW, Reply, completion, error, scripted

from swequarry.errors import ExitCode, ModelDeniedError, ModelUnavailableError, UsageError
from swequarry.records import ContentHash
from testwriter.model.access import Access
from testwriter.model.exchange import Message, Parameters, PromptName, Question
from testwriter.model.server import MAX_BODY_BYTES, OpenAiServer

KEY = "sk-very-secret-key"
NAME = PromptName(name="p", version=1, sha256=ContentHash("a" * 64))
QUESTION = Question(
    prompt=NAME,
    messages=(Message("system", "Be good."), Message("user", "Write.")),
    parameters=Parameters(model="scripted", max_tokens=77),
)


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.delenv(name, raising=False)


def server(url, *, timeout_s=20.0, retries=1):
    return OpenAiServer(Access(model="scripted", key=KEY, url=url), timeout_s, retries)


def test_a_good_answer_arrives_with_its_tokens():
    with scripted(completion("hello")) as model:
        answer = server(model.url).ask(QUESTION)
    assert (answer.text, answer.usage.input_tokens, answer.usage.output_tokens) == ("hello", 100, 20)
    assert not answer.cut_off
    assert not answer.refused
    assert not answer.usage.guessed
    assert json.loads(answer.raw)["choices"]


def test_the_request_offers_no_tools_and_has_what_the_settings_say():
    with scripted(completion("hello")) as model:
        server(model.url).ask(QUESTION)
    assert model.paths == ["/v1/chat/completions"]
    assert model.requests == [
        {
            "messages": [{"role": "system", "content": "Be good."}, {"role": "user", "content": "Write."}],
            "model": "scripted",
            "max_tokens": 77,
            "temperature": 0.0,
            "seed": 0,
        }
    ]
    assert model.headers[0]["authorization"] == f"Bearer {KEY}"


def test_what_is_null_in_the_settings_is_not_sent():
    parameters = Parameters(
        model="m", max_tokens=5, output_limit="max_completion_tokens", temperature=None, seed=None
    )
    assert parameters.to_json() == {"model": "m", "max_completion_tokens": 5}


def test_tokens_that_a_server_does_not_count_are_guessed_not_free():
    with scripted(completion("x" * 300, usage=False)) as model:
        usage = server(model.url).ask(QUESTION).usage
    assert usage.guessed
    assert usage.output_tokens >= 100
    assert usage.input_tokens > 0


def test_a_cut_off_answer_is_known_as_one():
    with scripted(completion("```python\ndef test", finish="length")) as model:
        assert server(model.url).ask(QUESTION).cut_off


@pytest.mark.parametrize(
    "reply",
    [
        completion(None),
        completion(""),
        completion("x", finish="content_filter"),
        completion(None, tool_calls=[{"id": "1", "type": "function", "function": {"name": "sh"}}]),
        error(400, "This model's maximum context length is 4096 tokens"),
    ],
)
def test_an_answer_kept_back_is_refused_and_no_breakdown(reply):
    with scripted(reply) as model:
        assert server(model.url).ask(QUESTION).refused


@pytest.mark.parametrize("status", [408, 429, 500, 503])
def test_a_passing_fault_is_asked_again(status):
    with scripted(error(status, "later", NOW), completion("hello")) as model:
        answer = server(model.url).ask(QUESTION)
    assert answer.text == "hello"
    assert answer.retries == 1


def test_a_lasting_fault_ends_after_the_tries_of_the_settings():
    with scripted(error(503, "later", NOW)) as model, pytest.raises(ModelUnavailableError, match="3 tries"):
        server(model.url, retries=2).ask(QUESTION)
    assert len(model.requests) == 3


def test_a_slow_server_does_not_hold_a_worker():
    with scripted(Reply(hang=True)) as model, pytest.raises(ModelUnavailableError, match="Timeout"):
        server(model.url, timeout_s=0.2, retries=0).ask(QUESTION)


def test_nobody_there_says_what_to_do():
    with scripted(completion("x")) as model:
        pass
    with pytest.raises(ModelUnavailableError, match="run again when it works"):
        server(model.url, retries=0).ask(QUESTION)


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_wrong_key_or_model_is_told_without_the_key(status):
    reply = error(status, f"Incorrect API key provided: {KEY}")
    with scripted(reply) as model, pytest.raises(ModelDeniedError, match="OPENAI_API_KEY") as found:
        server(model.url).ask(QUESTION)
    assert KEY not in str(found.value)
    assert found.value.exit_code is ExitCode.AUTH_OR_RATE_LIMIT


def test_a_key_that_a_server_repeats_is_not_kept():
    with scripted(completion(f"your key is {KEY}")) as model:
        answer = server(model.url).ask(QUESTION)
    assert KEY not in answer.raw + answer.text
    assert KEY not in repr(server(model.url).access)


@pytest.mark.parametrize(
    "body",
    [
        b"<html>a proxy's page</html>",
        b"{}",
        b'{"choices": []}',
        b'{"choices": [{"message": null}]}',
        b'{"choices": [{"message": {"content": ["a"]}}]}',
        b'{"choices": "none"}',
        b"[" * 100_000,
        b'{"choices": [{"message": {"content": "' + b"x" * MAX_BODY_BYTES + b'"}}]}',
        b"\xff\xfe",
        b"",
    ],
)
def test_what_is_no_completion_is_broken_machinery_never_an_answer(body):
    reply = Reply(body, headers={"content-type": "application/json"})
    with scripted(reply) as model, pytest.raises(ModelUnavailableError, match="doesn't speak OpenAI's"):
        server(model.url, retries=0).ask(QUESTION)


def test_a_connection_that_breaks_in_the_middle_is_no_answer():
    whole = completion("hello").body
    with scripted(Reply(whole[:40], promise=len(whole))) as model, pytest.raises(ModelUnavailableError):
        server(model.url, timeout_s=1.0, retries=0).ask(QUESTION)


def test_odd_numbers_of_tokens_do_not_count():
    body = json.loads(completion("hello").body)
    body["usage"] = {"prompt_tokens": -5, "completion_tokens": 1}
    with scripted(Reply(json.dumps(body).encode())) as model, pytest.raises(ModelUnavailableError):
        server(model.url, retries=0).ask(QUESTION)


def test_a_missing_package_says_which_extra_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(UsageError, match="extra `llm`"):
        server("http://127.0.0.1:9/v1").ask(QUESTION)
