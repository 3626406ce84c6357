"""What is read from completions: holes that were found, shapes that models write, traps."""

from __future__ import annotations

import json
from collections import Counter
from itertools import product
from pathlib import Path

import pytest

from logicgen.errors import FormatError
from logicgen.scoring import Scorer
from logicgen.scoring.scorer import judge
from logicgen.solvers import Verdict
from logicgen.tasks import load_task

BOTH, STRICT, TOLERANT = ("strict", "tolerant"), ("strict",), ("tolerant",)
CORRECT, INCORRECT, INVALID = Verdict.CORRECT, Verdict.INCORRECT, Verdict.INVALID


def rows(name):
    text = Path(__file__).with_name(name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def judged(task, problem, completion, mode):
    chosen = load_task(task)
    return judge(chosen, chosen.read_problem(problem), completion, mode)


def tagged(answer):
    return f"<answer>{answer}</answer>"


DENIALS = [
    *("The answer is not:\n@", "none of these:\n@", "Wrong answer: @", "Non-answer: @"),
    *("It is false that the answer is @", "I doubt that the answer is @", "Violating trace: @"),
    *("Would you say that the answer is @?", "Suppose the answer is @.", "Ruled out: @"),
    *("La réponse n'est pas @", "Die Antwort ist nicht @", "答案不是 @", "La respuesta no es @"),
    *("\\not\\boxed{@}", "~~\\boxed{@}~~", "~~@~~", "<s>@</s>", "\\cancel{@}", '"Answer: @"'),
    *("The answer is @. I take that back.", "Answer: @\nErratum: this is wrong.", "@?", "not (@)"),
    *("For example: @", "A model could write: The answer is @.", "If the answer is @, I am lost."),
]
HEDGES = [
    *("The answer is @\nor #", "The answer is @. Or #.", "The answer is @. No wait, #."),
    *("<answer>@</answer> <answer>?</answer>", "```\n@\n```\n```\n?\n```", "@ or #", "@\n#"),
    *("<answer>@</answer>\n```\n?\n```", "\\boxed{@} \\boxed{#}", "Answer: @\nAnswer: #"),
    *("<answer>@</answer> <answer>#</answer>", "<answer>@</answer> The answer is #."),
]
# A problem, a right answer and a wrong one.
ANSWERS = {
    "propositional": ("a & !b", "a=1, b=0", "a=0, b=1"),
    "ltl": ("G(a & !b)", "{a & !b}", "{a & b}"),
    "lookup": ("a -> b c -> d c ->", "d", "b"),
    "permutation": ("a b > b a ; c d >", "d c", "c d"),
    "copying": ("b a c", "b a c", "a b c"),
}


@pytest.mark.parametrize("answer", ["1", "unsat", "10", "0"])
def test_a_value_of_a_look_up_may_look_like_an_answer_of_logic(answer):
    problem = f"a -> {answer} b -> 2 a ->"
    for said in ("The value is @.", "Value: @", "The values are @", "The answer is @."):
        assert judged("lookup", problem, said.replace("@", answer), "tolerant").verdict is CORRECT


@pytest.mark.parametrize("task", ANSWERS)
def test_a_denied_or_hedged_answer_is_invalid(task):
    problem, right, wrong = ANSWERS[task]
    assert judged(task, problem, f"The answer is {right}.", "tolerant").verdict is CORRECT
    for text in (*DENIALS, *HEDGES):
        completion = text.replace("@", right).replace("#", wrong)
        found = judged(task, problem, completion, "tolerant")
        assert found.verdict in (INVALID, INCORRECT), completion
        # A string of words that the problem contains is an answer, if a wrong one.
        assert found.verdict is INVALID or text == "@\n#", completion


@pytest.mark.parametrize(
    ("modes", "task", "problem", "answer", "verdict"),
    [
        # A negation is never dropped.
        (BOTH, "propositional", "a & b", "a & \\!b", INCORRECT),
        (BOTH, "propositional", "a & !b", "a & \\!b", CORRECT),
        (BOTH, "ltl", "G(a & b)", "{a & \\!b}", INCORRECT),
        (BOTH, "ltl", "G a", "{\\!a}", INCORRECT),
        (BOTH, "propositional", "a & b", "a & - b", INVALID),
        (BOTH, "propositional", "a & b", "a, - b", INVALID),
        (BOTH, "propositional", "b", "- b", INVALID),
        (BOTH, "propositional", "a & !b", "- a\n- not b", CORRECT),
        (BOTH, "propositional", "a & !b", "- a = 1\n- b = 0", CORRECT),
        # That no answer exists, in several spellings; for a tautology this is wrong.
        *(
            (BOTH, "propositional", problem, answer, verdict)
            for problem, verdict in (("a | !a", INCORRECT), ("a & !a", CORRECT))
            for answer in (
                *("unsat", "unsat.", "(unsat)", "[unsat]", "unsat,", "- unsat", "UNSAT"),
                *("\\text{unsat}", "$\\boxed{\\text{unsat}}$", "$\\boxed{\\mathrm{unsat}}$"),
                *("**unsat**", "The formula is unsatisfiable.", '"unsat"'),
            )
        ),
        (BOTH, "ltl", "G a & F !a", "unsat.", CORRECT),
        (BOTH, "ltl", "G a", "unsat.", INCORRECT),
        # Words are no symbols of the problem.
        *(
            (BOTH, "propositional", "a | !a", answer, INVALID)
            for answer in ("impossible", "unknown", "not unsat", "none", "a=1, this is false")
        ),
        (BOTH, "ltl", "F a | G !a", "{maybe}", INVALID),
        (BOTH, "ltl", "X G a", "wrong ; {a}", INVALID),
        # Nothing between the tags gives no value to any symbol.
        (STRICT, "propositional", "a | !a", "", CORRECT),
        (STRICT, "propositional", "a", "", INCORRECT),
        # Right answers that were missed.
        (BOTH, "propositional", "a & !b", "**a=1, b=0**.", CORRECT),
        (BOTH, "propositional", "a & !b", "```text\r\na=1, b=0\r\n```", CORRECT),
        (BOTH, "propositional", "a & !b", "(a, b) = (True, False)", CORRECT),
        (BOTH, "propositional", "a & !b", "| a | b |\n|---|---|\n| 1 | 0 |", CORRECT),
        (BOTH, "propositional", "a & !b", "a = True (0), b = False", INVALID),
        (BOTH, "ltl", "a & X G b", "$a ; \\{b \\land \\top\\}$", CORRECT),
        (BOTH, "permutation", "a b > b a ; c d >", "1. d\n2. c", CORRECT),
        (BOTH, "permutation", "a b > b a ; c d >", "2. d\n1. c", INVALID),
        (BOTH, "copying", "a " * 101, "\n".join(f"{i}. a" for i in range(1, 102)), CORRECT),
    ],
)
def test_holes_that_were_found(modes, task, problem, answer, verdict):
    for mode in modes:
        for completion in (tagged(answer), *((answer,) if mode == "tolerant" else ())):
            found = judged(task, problem, completion, mode)
            assert found.verdict is verdict, (mode, completion, found)


def test_an_empty_completion_is_no_answer():
    fenced = ("```\n```", "```\n\n```", "\\boxed{}", "{}")
    for mode, text in product(BOTH, ("", " ", "\n", "<think>x</think>", *fenced)):
        assert judged("propositional", "a | !a", text, mode).verdict is INVALID


@pytest.mark.parametrize("task", ["propositional", "ltl"])
@pytest.mark.parametrize("name", ["unsat", "unsatisfiable"])
def test_no_symbol_has_the_name_of_an_answer(task, name):
    for problem in (name, f"a & !{name}", f"& a {name}"):
        with pytest.raises(FormatError, match="no symbol has this name: rename the symbol"):
            load_task(task).read_problem(problem)
    assert judged(task, f"{name}_1", tagged(name), "strict").verdict is INCORRECT


def test_reasons_say_what_is_wrong():
    found = judged("propositional", "a", tagged("a=1, c=0"), "strict")
    assert found.reason == "the problem does not contain c"
    found = judged("propositional", "a", "The answer is a=1. Or a=0.", "tolerant")
    assert found.reason == "line 1, column 20: an answer cannot be read from 'Or a=0.'"
    found = judged("propositional", "a", "Answer: a=1\nAnswer: a=0", "tolerant")
    assert found.reason == "the completion gives several different answers"
    found = judged("propositional", "a & !a", "SAT: unsat", "tolerant")
    assert found.reason == "the text around the answer contradicts it"


def test_a_scorer_judges_alike():
    with Scorer("propositional", mode="tolerant", timeout=60) as scorer:
        found = scorer.score_batch(["a & b"] * 2, ["Answer: a & \\!b", "\\boxed{a \\land b}"])
    assert [each.verdict for each in found] == [INCORRECT, CORRECT]


def test_shapes_that_models_write():
    """Collected shapes: nothing wrong is paid, and at most 3% of the right answers are missed.

    Reasoning in the open is not read in tolerant mode, by rule.
    """
    shapes = rows("shapes.jsonl")
    assert len({row["shape"] for row in shapes}) >= 300
    found: Counter[tuple[str, bool]] = Counter()
    for row in shapes:
        paid = judged(row["task"], row["problem"], row["completion"], row["mode"]).reward == 1.0
        assert not paid or row["deserves"] == "correct", row
        if row["deserves"] == "correct" and (row["mode"] == "strict" or not row["reasoning"]):
            found[row["mode"], paid] += 1
    for mode in BOTH:
        assert found[mode, False] <= 0.04 * found[mode, True], found
    assert found["tolerant", False] <= 0.03 * (found["tolerant", False] + found["tolerant", True])


def test_strict_mode_pays_only_what_its_prompt_asks_for():
    for row in rows("shapes.jsonl"):
        if row["mode"] == "tolerant" and row["completion"].count("<answer>") != 1:
            found = judged(row["task"], row["problem"], row["completion"], "strict")
            assert found.verdict is INVALID, row


def test_traps_are_not_paid():
    """Completions that an adversary wrote with the page of rules, and right ones."""
    missed = []
    for row in rows("adversarial.jsonl"):
        paid = judged(row["task"], row["problem"], row["completion"], row["mode"]).reward == 1.0
        assert not paid or row["pay"], row
        if row["pay"] and not paid:
            missed.append(row["completion"])
    # "Any assignment works" is wrong of all other formulas, and so it is no listed phrase.
    assert missed == ["Any assignment works, for example: a=1", "The values are `w` and `v`."]
