"""Answers of a model to anybody's problems: in their own names, and right or not given."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from logicgen.errors import LogicgenError
from logicgen.library.judging import shown_answers, solve_lines
from logicgen.measures.answering import CHUNK, Answering
from logicgen.model.model import Answer
from logicgen.model.training_data import TrainingRegion
from logicgen.nn.decoding import GREEDY
from logicgen.tasks import load_task

TOKENS = ("!", "&", "X", "U")


class Fake:
    """Answers what it is told for each draw, and remembers what it was asked."""

    def __init__(self, *answers, task="ltl", tokens=TOKENS):
        self.task_name = task
        self.vocabulary = load_task(task).vocabulary
        self.alphabet = 3
        self.region = TrainingRegion((1, 3), (1, 10), tokens)
        self.largest = self.region.largest
        self.trained_on_task, self.reorders = True, False
        self.answers = answers
        self.asked, self.orders = [], []
        self.most = 9

    def check(self, symbols, ensemble=1, tokens=0):
        if symbols > self.most:
            raise LogicgenError(f"{symbols} symbols are too many")

    def predict(self, request):
        problems = request.problems
        assert all(max(p) < len(self.vocabulary) + request.symbols for p in problems)
        self.asked.append([self.vocabulary.decode(problem) for problem in problems])
        self.orders.append(request.orders)
        drawn = [Answer(self.vocabulary.encode(each), 0.0) for each in self.answers]
        return [drawn[: request.decoding.answers]] * len(problems)


def ask(fake, *problems, draws=4):
    with Answering(fake, draws=draws) as answering:
        return answering.answers([answering.question(problem) for problem in problems])


def test_the_first_right_answer_is_given_in_the_problems_own_names():
    fake = Fake("{ ! a }", "{ ! b }", "a ; { b }", "{ a }")
    [outcome] = ask(fake, "request & X(grant)")
    assert outcome == ("request ; { grant }", "exact", 3)
    assert fake.asked == [["& a X b"]] * 2


def test_operators_it_was_not_trained_on_are_said_with_those_it_was():
    fake = Fake("{ b }")
    [outcome] = ask(fake, "G(p -> F q)")
    assert outcome.prediction == "{ q }"
    asked = set(fake.asked[0][0].split())
    assert asked <= {*TOKENS, "a", "b"}


def test_answers_that_differ_in_order_only_are_verified_once():
    wrong = ["{ & a ! b }", "{ & ! b a }", "{ ! a }", "{ & a & ! b ! b }"]
    [outcome] = ask(Fake(*wrong, "{ & a b }", "{ & b a }"), "p & q & X p", draws=4)
    # Of six candidates, the right meaning was drawn twice: it is verified before `{ ! a }`.
    assert outcome == ("{ & p q }", "exact", 2)
    [outcome] = ask(Fake(*wrong, "{ & a b }", "{ & b a }"), "p & q & X ! p", draws=9)
    assert (outcome.prediction, outcome.draws) == ("{ & p ! q }", 3)  # there are three meanings


@pytest.mark.parametrize("reorders", [False, True])
def test_a_model_that_can_draws_for_four_orders(reorders):
    fake = Fake("{ ! a }", "{ a }")
    fake.reorders = reorders
    assert ask(fake, "p & p")[0].verdict in ("exact", "correct")
    assert fake.orders == [1, 4 if reorders else 1]


def test_only_the_problems_without_an_answer_are_drawn_again():
    fake = Fake("{ a }", "{ ! a }", "{ a ; ! a }", "{ 1 }")
    outcomes = ask(fake, "X a", "X ! b", "c & ! c")
    assert [(o.draws, o.verdict in ("exact", "correct")) for o in outcomes] == [
        (1, True),
        (2, True),
        (4, False),
    ]
    assert [len(asked) for asked in fake.asked] == [3, 2]


def test_lines():
    fake = Fake("{ a }", "{ ! a }")
    earlier = '"reason": "old", "warning": "old"'
    lines = ["X p\n", f'{{"id": 7, "problem": "! q", {earlier}}}', "X (", "a & ! a"]
    with Answering(fake, draws=2) as answering:
        rows = answering.answer_lines(lines)
    assert [row["status"] for row in rows] == ["sat", "sat", "invalid", "unknown"]
    assert rows[0] == {"problem": "X p", "status": "sat", "witness": "{p}", "draws": 1}
    assert rows[1] == {"id": 7, "problem": "! q", "status": "sat", "witness": "{!q}", "draws": 2}
    assert "column" in rows[2]["reason"]
    assert rows[3]["witness"] is None
    assert "none of 2 answers was accepted" in rows[3]["reason"]
    assert json.dumps(rows)
    with Answering(fake) as answering:
        assert list(answering.answer_lines([])) == []


def test_a_problem_larger_than_those_of_the_training_has_a_warning():
    fake = Fake("{ a }")
    long, wide = "a & " * 6 + "a", "a & (b | c) & (d | a)"
    with Answering(fake, draws=2) as answering:
        rows = list(answering.answer_lines(["a & b & c", long, wide]))
        shown = list(answering.shown(["a", long, "!a & " * 6 + "b"]))
    assert [row.get("warning", "") for row in rows] == [
        "",
        "13 tokens when written with ! & X U, after training on up to 10",
        "15 tokens when written with ! & X U, after training on up to 10; 4 symbols, after training"
        " on up to 3",
    ]
    assert shown[0][1] == "verified, 1 of 2 draws used"
    assert shown[1][1].startswith("verified, 1 of 2 draws used; warning: 13 tokens")
    assert shown[2][1].startswith("warning: ")


def test_an_answer_with_more_positions_than_stored_answers_has_a_warning():
    fake = Fake("a ; { b }", "{ a }")
    fake.region = replace(fake.region, positions=(1, 1))
    with Answering(fake, draws=2) as answering:
        rows = list(answering.answer_lines(["a & X b", "G a", "a & ! a", " & ".join("abbbbb")]))
        [(_, shown)] = answering.shown(["a & X b"])
    said = "an answer of 2 positions, after stored answers of up to 1"
    assert [row.get("warning", "") for row in rows[:3]] == [said, "", ""]
    assert rows[3]["warning"] == "11 tokens when written with ! & X U, after training on up to 10"
    assert shown == f"verified, 1 of 2 draws used; warning: {said}"


def test_one_problem_that_is_too_much_does_not_stop_the_others():
    fake = Fake("{ a }")
    wide = " & ".join("abcdefghij")
    nested = " <-> ".join("abcdefghi" * 3)
    with Answering(fake, draws=2) as answering:
        rows = list(answering.answer_lines(["X p", wide, nested, "G q"]))
    assert [row["status"] for row in rows] == ["sat", "invalid", "invalid", "sat"]
    assert "10 symbols are too many" in rows[1]["reason"]
    assert "alone it takes" in rows[2]["reason"]


def test_that_there_is_none_is_an_answer_too():
    with Answering(Fake("0", "0"), draws=2) as answering:
        rows = list(answering.answer_lines(["a & ! a", "a"]))
    assert [row["status"] for row in rows] == ["unsat", "unknown"]
    assert [row["witness"] for row in rows] == [None, None]


def test_an_answer_does_not_depend_on_the_other_questions():
    lengths = []

    class Wordy(Fake):
        def predict(self, request):
            if request.decoding == GREEDY:
                lengths.append((len(request.problems), request.symbols, request.max_length))
            return super().predict(request)

    long = "X " * 40 + "p"
    ask(Wordy("{ a }"), "X p", long, "a & b & c & d", "G q", draws=1)
    together = sorted(lengths)
    lengths.clear()
    for problem in ("X p", long, "a & b & c & d", "G q"):
        ask(Wordy("{ a }"), problem, draws=1)
    assert {each[1:] for each in lengths} == {each[1:] for each in together}
    assert together[-1][0] == 2  # those that are alike, in one batch


def test_propositional():
    fake = Fake("b 0 a 0", task="propositional", tokens=("!", "&", "|"))
    [outcome] = ask(fake, "(p -> q) & !q")
    assert outcome.prediction == "q 0 p 0"
    assert fake.asked == [["& ! & a ! b ! b"]]


def test_an_assignment_has_room_for_each_symbol_once():
    rooms = []

    class Noting(Fake):
        def predict(self, request):
            rooms.append(request.max_length)
            return super().predict(request)

    ask(Noting("a 0", task="propositional", tokens=("!", "&")), "!a & " * 60 + "!a", draws=1)
    ask(Noting("{ a }", tokens=("!", "&")), "!a & " * 60 + "!a", draws=1)
    assert rooms == [64, 512]


@pytest.mark.parametrize(
    ("fake", "problem", "words"),
    [
        (Fake(), "a U", "column 4"),
        (Fake(tokens=("!", "&")), "X a", "trained on ! &: X cannot be expressed"),
        (Fake(task="copying", tokens=()), "a +", "column"),
        (Fake(), "X " * 300 + "a", "a problem of 301 tokens; .* takes up to 256"),
    ],
)
def test_what_cannot_be_asked_says_why(fake, problem, words):
    with pytest.raises(LogicgenError, match=words):
        ask(fake, problem)
    with pytest.raises(LogicgenError, match="1 to 1,000"):
        Answering(fake, draws=0)


@pytest.mark.parametrize(("longest", "most"), [(10, 256), (60, 480), (480, 1024), (1100, 1100)])
def test_the_longest_problem_follows_from_the_longest_of_the_training(longest, most):
    fake = Fake("{ a }")
    fake.largest = (3, longest)  # problems of rounds, without stored answers, count too
    with Answering(fake) as answering:
        assert answering.question("X " * (most - 1) + "a").problem
        with pytest.raises(LogicgenError, match=f"a problem of {most + 1} tokens; .* to {most}:"):
            answering.question("X " * most + "a")


def test_a_control_answers_in_the_place_of_a_model():
    problems = ["a & !b", "(a ^ b) & (b ^ c) & a"]
    found = list(shown_answers("propositional", problems, model="control:greedy", draws=4))
    assert found[0] == ("a=1, b=0", "verified, 1 of 4 draws used")
    assert found[1][0] == "a=1, b=0, c=1"
    (unknown,) = shown_answers("propositional", ["a & !a"], model="control:greedy", draws=2)
    assert unknown[0].startswith("unknown: none of 2 answers was accepted")
    with pytest.raises(LogicgenError, match="no control of ltl has this name"):
        list(shown_answers("ltl", ["a"], model="control:greedy"))


def test_several_processes_answer_a_file_in_its_order(tmp_path):
    file = tmp_path / "problems.txt"
    names = [f"x{number}" for number in range(2 * CHUNK + 1)]
    file.write_text("\n\n".join(f"!{name}" for name in names) + "\n)\n")
    *answered, wrong = solve_lines(
        "propositional", str(file), model="control:greedy", draws=1, workers=2
    )
    assert [row["witness"] for row in answered] == [f"{name}=0" for name in names]
    assert wrong["status"] == "invalid"
    with pytest.raises(LogicgenError, match="no control of propositional has this name"):
        solve_lines("propositional", str(file), model="control:no", workers=2)
