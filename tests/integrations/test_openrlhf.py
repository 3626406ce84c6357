"""OpenRLHF loads our reward function and is paid by it, never for what the prompt itself says."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace

import pytest

from logicgen import prompt as prompt_of
from logicgen.errors import LogicgenError
from logicgen.integrations import openrlhf as adapter
from logicgen.integrations.openrlhf import completion_in, reward_func
from tests.integrations.byte_tokenizer import END, byte_tokenizer

torch = pytest.importorskip("torch", reason="pip install 'logicgen[train]'")

HOW = "pip install --no-deps 'openrlhf>=0.11', then aiohttp, pylatexenc and transformers"

LABEL = json.dumps({"task": "propositional", "problem": "a & !b"})
RIGHT, WRONG = "<answer>a=1, b=0</answer>", "<answer>a=1, b=1</answer>"


def chat(text):
    return f"<|begin|>user\n{text}<|end|>\n<|begin|>assistant\n"


# Its first worked example has the answer to the problem: as a completion it would be paid.
ASKED = prompt_of("propositional", "a & !b", examples=3).replace("a=0, b=0", "a=1, b=0")
PROMPT = chat(ASKED)


def paid(queries, prompts=None, labels=None):
    found = reward_func(
        queries, prompts or [PROMPT] * len(queries), labels or [LABEL] * len(queries), timeout=60
    )
    assert found["scores"] is found["rewards"]
    return found["rewards"].tolist(), found["extra_logs"]["unknown"].tolist()


def test_the_completion_is_paid_and_nothing_before_it():
    completions = [RIGHT, WRONG, "a=1, b=0", RIGHT + END, f"<think>{WRONG}</think>\n{RIGHT}", ""]
    assert paid([PROMPT + each for each in completions]) == ([1, 0, 0, 1, 1, 0], [0] * 6)


@pytest.mark.parametrize("prompt", [PROMPT, ASKED])
def test_a_prompt_that_was_cut_or_begun_otherwise_is_known_by_its_end(prompt):
    behind = prompt.rindex("</answer>") + len("</answer>")
    for place in (1, len(prompt) // 2, behind - 1, behind):
        for completion, reward in ((RIGHT, 1), (WRONG, 0), ("", 0)):
            assert paid([prompt[place:] + completion], [prompt]) == ([reward], [0])
    for begun in ("<s>", "<s> ", " "):
        assert paid([begun + prompt + RIGHT, begun + prompt], [prompt] * 2) == ([1, 0], [0, 0])
    # So little is left of it that where it ends is not certain.
    assert paid([prompt[behind + 1 :] + RIGHT], [prompt]) == ([0], [1])


def test_a_prompt_that_is_not_found_is_unknown_and_never_paid():
    respelt = PROMPT.replace("\n", " ")
    assert paid([respelt + RIGHT, respelt, RIGHT, ""]) == ([0, 0, 0, 0], [1, 1, 1, 1])


def test_an_end_that_the_prompt_says_before_is_not_where_it_ends():
    """Find no completion behind a prompt whose end also stands in its worked example."""
    prompt = "\nFormula: b & a\n<answer>a=1, b=1</answer>\nFormula: b"
    assert completion_in(prompt + "x", prompt) == "x"
    assert completion_in("<s>" + prompt + "x", prompt) is None
    assert completion_in("x", "Say <answer></answer>") is None


def test_what_a_model_copies_of_its_prompt_is_part_of_its_completion():
    """Check that a completion which repeats the prompt does not move its own beginning."""
    cut = PROMPT[9:]
    assert paid([PROMPT + WRONG + PROMPT + RIGHT, cut + WRONG + cut + RIGHT]) == ([0, 0], [0, 0])
    assert completion_in(cut + WRONG + PROMPT + RIGHT, PROMPT) == WRONG + PROMPT + RIGHT


def test_a_batch_may_have_several_tasks():
    other = json.dumps({"task": "ltl", "problem": "G a"})
    queries = [PROMPT + RIGHT, PROMPT + "<answer>{a}</answer>", PROMPT + RIGHT]
    assert paid(queries, labels=[LABEL, other, other]) == ([1, 1, 0], [0, 0, 0])


def test_what_is_not_known_is_not_paid_and_counted(undecided):
    assert paid([PROMPT + RIGHT]) == ([0], [1])


@pytest.mark.parametrize(
    "label", ["", "a & !b", None, "3", "[]", '{"task": "ltl"}', LABEL.encode() + b"x", "[" * 99999]
)
def test_a_label_of_another_form_is_an_error_of_one_line(label):
    with pytest.raises(LogicgenError, match="must be JSON with task and problem") as raised:
        reward_func([PROMPT + RIGHT], [PROMPT], [label])
    assert "\n" not in str(raised.value)


class Engine:
    """Write one text, whatever is asked: stands in for vLLM."""

    def __init__(self, tokens):
        self.tokens = tokens

    async def generate(self, prompt, settings, multi_modal_data=None):
        out = SimpleNamespace(token_ids=self.tokens, finish_reason="stop", logprobs=None)
        return SimpleNamespace(outputs=[out])


@pytest.mark.trainer
@pytest.mark.parametrize("room", [100_000, 300])
def test_the_executor_of_openrlhf_is_paid(exported, room):
    """Check the path from exported lines to rewards, with prompts whole and cut."""
    pytest.importorskip("openrlhf", reason=HOW)
    from openrlhf.datasets.prompts_dataset import preprocess_data
    from openrlhf.utils.agent import SingleTurnAgentExecutor

    tokenizer = byte_tokenizer()
    executor = SingleTurnAgentExecutor(adapter.__file__)
    settings = SimpleNamespace(max_tokens=60, logprobs=None)
    lines = (exported / "openrlhf" / "train.jsonl").read_text(encoding="utf-8").splitlines()
    for row in map(json.loads, lines[:4]):
        prompt, label = preprocess_data(
            row,
            input_key="prompt",
            label_key="label",
            apply_chat_template=tokenizer.apply_chat_template,
        )
        assert len(prompt) > 300
        for answer, reward in ((row["answer"], 1.0), ("x=(", 0.0)):
            written = tokenizer(f"<answer>{answer}</answer>{END}")["input_ids"]
            engine = Engine(written)
            found = asyncio.run(executor.execute(prompt, label, settings, room, tokenizer, engine))
            # These lines are how OpenRLHF keeps them.
            assert torch.tensor([found["reward"]]).tolist() == [reward]
            assert torch.tensor([found["scores"]]).tolist() == [reward]
            assert found["extra_logs"]["unknown"].flatten()[0].item() == 0.0
