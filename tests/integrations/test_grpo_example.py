"""`examples/grpo.py` trains, measures and saves a model, and `examples/serve.py` serves it."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path

import pytest

import logicgen
from logicgen.data.prompts import prompt_rows
from logicgen.measures.renamed_answers import renamed_prompts
from tests.cli.test_commands import run as cli

pytest.importorskip("trl")

pytestmark = pytest.mark.trainer

EXAMPLES = Path(logicgen.__file__).parent.parent / "examples"


@pytest.fixture(scope="module")
def taught(tmp_path_factory):
    """Run the example for a few steps and return the folder that it writes."""
    folder = tmp_path_factory.mktemp("grpo") / "out"
    command = [sys.executable, EXAMPLES / "grpo.py", "--small", "--out", folder]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "| GRPO | " in done.stdout
    return folder


def test_what_is_written(taught):
    found = json.loads((taught / "result.json").read_text())
    assert set(found["greedy, drawn"]) == {
        *("constant", "start", "more of the same", "all answers", "GRPO")
    }
    assert len(found["rewards"]) == 2
    for greedy, drawn in found["greedy, drawn"].values():
        for each in (greedy, drawn):
            low, high = each["interval"]
            assert 0 <= low <= each["share"] <= high <= 1
    assert found["greedy, drawn"]["constant"][0]["share"] > 0.1
    assert (taught / "reward.png").stat().st_size > 1_000


@pytest.fixture
def url(taught):
    """Serve the trained model and return the address of the server."""
    command = [sys.executable, EXAMPLES / "serve.py", taught / "model", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            yield server.stdout.readline().strip()
        finally:
            server.terminate()


def sent(url, content=None):
    """Return status and JSON of the answer to a request."""
    body = None if content is None else json.dumps(content).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body), timeout=60) as answer:  # noqa: S310
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def test_the_model_is_served(url):
    assert sent(f"{url}/models")[1]["data"][0]["id"] == "model"
    prompt = logicgen.prompt("propositional", "a & !b")
    request = {"messages": [{"role": "user", "content": prompt}], "max_tokens": 5}
    both = [{**request, "temperature": 0}, {**request, "top_p": 0.9}] * 4
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda each: sent(f"{url}/chat/completions", each), both))
    assert {status for status, _ in answers} == {200}
    said = [answer["choices"][0]["message"] for _, answer in answers]
    assert all(each["role"] == "assistant" for each in said)
    assert len({each["content"] for each in said[::2]}) == 1
    # The explanation is one token, followed by `Formula: `'s formula and a line break.
    assert answers[0][1]["usage"]["prompt_tokens"] == 6
    assert answers[0][1]["usage"]["completion_tokens"] <= 5


@pytest.mark.parametrize("wrong", [[], {}, {"messages": [{}]}, {"messages": 3}])
def test_a_wrong_request_is_refused_and_the_next_one_answered(url, wrong):
    status, answer = sent(f"{url}/chat/completions", wrong)
    assert status == 400
    assert answer["error"]["message"]
    assert sent(f"{url}/nothing", {})[0] == 404
    assert sent(f"{url}/models")[0] == 200


def test_what_the_served_model_writes_is_drawn_like_our_own(url, taught, tmp_path):
    """Ask the server data-set problems and renamed ones, and let the commands judge its replies."""
    data = logicgen.load_dataset(taught / "data")

    def asked(row):
        request = {"messages": [{"role": "user", "content": row["prompt"]}], "temperature": 0}
        status, answer = sent(f"{url}/chat/completions", request)
        assert status == 200
        return {**row, "completion": answer["choices"][0]["message"]["content"]}

    replies = tmp_path / "tiny.jsonl"
    rows = map(asked, islice(prompt_rows(data, "test"), 6))
    replies.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert logicgen.evaluate(replies, data.folder)["overall"]["examples"] == 6
    assert (tmp_path / "tiny" / "heatmap.png").is_file()
    rows = map(asked, renamed_prompts(data, "test", limit=1))
    replies.write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = cli("measure", "covariance", replies, "--data", data.folder, "-o", tmp_path / "names")
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "names" / "covariance.png").is_file()
