"""The taskset for verifiers, run by the real package with a canned model and no network."""

from __future__ import annotations

import asyncio
import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from logicgen.errors import LogicgenError
from logicgen.scoring.prompts import prompt
from logicgen.tasks.propositional import Propositional
from tests.integrations.small import INVALID, WRONG, right

pytest.importorskip("verifiers", reason="pip install 'logicgen[verifiers]'")

import verifiers.v1 as vf

from logicgen.integrations.verifiers import LogicTaskConfig, LogicTaskset, VerifiersConfig

pytestmark = pytest.mark.trainer

# What users write; the harness asks the model once, from the process of the test.
MODULE = """
import httpx
import verifiers.v1 as vf
from logicgen.integrations.verifiers import LogicTaskset


class Once(vf.Harness[vf.HarnessConfig]):
    NEEDS_CONTAINER = False

    async def launch(self, ctx, trace, runtime, endpoint, secret, mcp_urls, data):
        async with httpx.AsyncClient(trust_env=False) as client:
            reply = await client.post(
                f"{endpoint}/chat/completions",
                json={"model": ctx.model, "messages": [{"role": "user", "content": data.prompt}]},
                headers={"Authorization": f"Bearer {secret}"},
            )
        return vf.ProgramResult(0 if reply.status_code == 200 else 1, reply.text, "")


__all__ = ["LogicTaskset", "Once"]
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Write a module with the taskset, which is found by its id."""
    (tmp_path / "my_logic.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    return "my-logic"


@pytest.fixture
def model():
    """Serve a list of completions in turn; return the list and the address."""
    said = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            message = {"role": "assistant", "content": said.pop(0)}
            reply = {
                "id": "1",
                "object": "chat.completion",
                "created": 0,
                "model": "canned",
                "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
            }
            content = json.dumps(reply).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield said, f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    thread.join()
    server.server_close()


def traced(task, reply):
    """Return a trace in which a model gave a reply."""
    messages = [vf.UserMessage(content=task.data.prompt), vf.AssistantMessage(content=reply)]
    nodes = [
        vf.MessageNode(parent=None, message=messages[0], sampled=False),
        vf.MessageNode(parent=0, message=messages[1], sampled=True),
    ]
    return vf.Trace(
        agent=vf.AgentInfo(config=vf.AgentConfig()),
        task=vf.TraceTask(type=type(task).__name__, data=task.data),
        nodes=nodes,
    )


def scored(task, reply):
    """Score a reply and return its trace."""
    trace = traced(task, reply)
    asyncio.run(task.score(trace))
    return trace


def test_tasks_are_the_examples_of_the_split(data):
    taskset = LogicTaskset(VerifiersConfig(data=str(data.folder), split="test", examples=1))
    tasks, rows = list(taskset), data.table("test").to_pylist()
    assert len(tasks) == len(rows)
    assert len({task.key for task in tasks}) == len(rows)
    for number, (task, row) in enumerate(zip(tasks, rows, strict=True)):
        about = task.data
        assert about.prompt == prompt("propositional", about.problem, examples=1)
        assert (about.id, about.row, about.logic) == (f"test-{number}", number, "propositional")
        assert (about.symbols, about.length) == (row["symbols"], row["length"])
        assert (about.dataset, about.fingerprint) == (data.name, data.fingerprint)
        assert asyncio.run(task.validate(None)) is True
    again = LogicTaskset(VerifiersConfig(data=str(data.folder), split="test"))
    assert [task.key for task in again.take(2)] == [task.key for task in tasks[:2]]


def test_rewards(data):
    task = next(iter(LogicTaskset(VerifiersConfig(data=str(data.folder)))))
    for reply, reward, verdict in [
        (right(task.data.answer), 1.0, "correct"),
        (WRONG, 0.0, "incorrect"),
        (INVALID, 0.0, "invalid"),
        (None, 0.0, "invalid"),
    ]:
        trace = scored(task, reply)
        assert (trace.reward, trace.rewards["right"].score) == (reward, reward)
        assert trace.info["judgement"]["verdict"] == verdict
    assert trace.info["judgement"]["reason"] == "there is no <answer>...</answer>"


def test_a_task_can_be_judged_tolerantly(data):
    config = VerifiersConfig(data=str(data.folder), task=LogicTaskConfig(mode="tolerant"))
    task = next(iter(LogicTaskset(config)))
    assert scored(task, f"The answer is {task.data.answer}.").reward == 1.0


def test_what_cannot_be_decided_is_an_error_without_a_reward(data, undecided):
    task = next(iter(LogicTaskset(VerifiersConfig(data=str(data.folder)))))
    trace = traced(task, WRONG)
    with pytest.raises(vf.TaskError, match="could not be judged: time limit of 1 s"):
        asyncio.run(task.score(trace))
    assert trace.rewards == {"right": None}
    assert asyncio.run(task.validate(None)) is None


def test_an_agent_plays_the_tasks(data, module, model):
    """Evaluate as `vf-eval my-logic` does: taskset and harness by id, the model behind a client."""
    said, address = model
    config = vf.taskset_config_type(module)(id=module, data=str(data.folder), split="test")
    tasks = list(vf.load_taskset(config).take(3))
    said += [right(tasks[0].data.answer), WRONG, INVALID]
    agent = vf.Agent(
        vf.AgentConfig(
            model="canned",
            client=vf.EvalClientConfig(base_url=address, api_key_var="NO_SUCH_KEY"),
            harness=vf.harness_config_type(module)(id=module),
            runtime=vf.SubprocessConfig(),
        )
    )

    async def play():
        return [await agent.run(task) for task in tasks]

    traces = asyncio.run(play())
    assert [trace.errors for trace in traces] == [[], [], []]
    assert [trace.reward for trace in traces] == [1.0, 0.0, 0.0]
    assert traces[0].task.key == tasks[0].key


def test_what_cannot_be_asked_is_refused(data, tmp_path, monkeypatch):
    def load(**how):
        return list(LogicTaskset(VerifiersConfig(**{"data": str(data.folder), **how})))

    for how, said in [
        ({"data": ""}, r"set --env\.taskset\.data"),
        ({"data": str(tmp_path)}, "not a data set"),
        ({"split": "dev"}, "no split is called 'dev'"),
        ({"task": LogicTaskConfig(timeout=-1)}, "timeout: -1"),
    ]:
        with pytest.raises(LogicgenError, match=said):
            load(**how)
    with pytest.raises(ValueError, match="mode"):
        LogicTaskConfig(mode="lenient")
    monkeypatch.setattr(Propositional, "wording", None)
    with pytest.raises(LogicgenError, match="task propositional has no prompts"):
        load()
