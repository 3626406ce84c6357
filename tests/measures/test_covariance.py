"""Alpha-covariance of models whose covariance is known without measuring it."""

from __future__ import annotations

import csv
import json
from collections import Counter
from itertools import permutations, product
from math import perm
from random import Random

import pytest

from logicgen.errors import LogicgenError
from logicgen.measures.covariance import count_inequivalent, covariances, write_covariance
from logicgen.measures.predictions import About
from logicgen.measures.renamed_answers import MOST_RENAMINGS, predict_renamed, renamings, undo
from logicgen.nn.canonical import alpha_class
from logicgen.tasks import load_task
from logicgen.tasks.task import rename, symbols_of
from logicgen.tokens import symbol_name
from tests.asking import only
from tests.data.data_sets import opened

ABOUT = About("propositional", "fake", "some", "test", (0, 3), (1, 6))


class Fake:
    """Stands in for a model: answers what `answer` makes of a problem's text."""

    canonical, votes, shots, trained_on_task, reorders = False, 1, 0, True, False

    def __init__(self, data, answer):
        self.task_name = data.task.name
        self.vocabulary = data.vocabulary
        self.alphabet = 3
        self.answer = answer

    def check(self, symbols, ensemble=1, tokens=0):
        pass

    def predict(self, request):
        rows = len(self.vocabulary) + request.symbols
        assert all(max(problem) < rows for problem in request.problems)
        texts = [self.answer(self.vocabulary.decode(problem)) for problem in request.problems]
        return only([self.vocabulary.encode(text) for text in texts])


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    recipe = {
        "task": "propositional",
        "problem": {"operators": {"!": 1, "&": 1, "1": 1}},
        "region": {"symbols": [0, 3], "length": [1, 6], "balance": "symbols-and-length"},
        "sizes": {"test": 60},
        "grid": {"symbols": [5, 5], "length": [9, 10], "per_cell": 2},
    }
    return opened(tmp_path_factory.mktemp("data") / "some", recipe)


def measured(data, answer, about=ABOUT, **options):
    return covariances(predict_renamed(Fake(data, answer), data, about, **options))


def values(data, answer):
    """Both values of all problems, by number of symbols."""
    found = [each for each in measured(data, answer) if each.renamings > 1]
    return {(each.symbols, round(each.strings, 9), round(each.equivalence, 9)) for each in found}


def test_a_model_that_goes_by_the_order_of_symbols_has_one(data):
    """It gives the first symbol 1 and the others 0, whatever they are called."""

    def answer(problem):
        return " ".join(f"{name} {int(i == 0)}" for i, name in enumerate(symbols_of(problem)))

    assert values(data, answer) == {(1, 1.0, 1.0), (2, 1.0, 1.0), (3, 1.0, 1.0)}


def test_a_model_that_always_answers_something_else_has_zero(data):
    count = iter(range(10**6))

    def answer(problem):
        return " ".join("&" if digit == "1" else "|" for digit in f"{next(count):b}")

    assert values(data, answer) == {(1, 0.0, 0.0), (2, 0.0, 0.0), (3, 0.0, 0.0)}


def test_a_model_that_always_names_the_same_symbol(data):
    """`a 1`, undone: symbols that have been called `a`, or one that the problem does not have.

    The alphabet is a, b, c. One symbol: of its 3 names one is `a`, else a fresh one: 2 answers of
    3. Two: either may be `a`, or none: 3 of 6. Three: each in turn: 3 of 6.
    """
    expected = {(1, 1 - 1 / 2), (2, 1 - 2 / 5), (3, 1 - 2 / 5)}
    assert values(data, lambda problem: "a 1") == {(k, v, v) for k, v in expected}


def test_a_model_that_sorts_by_name_differs_in_writing_only(data):
    """All symbols are 1, in the order of their names: k! orders, which all mean the same."""

    def answer(problem):
        return " ".join(f"{name} 1" for name in sorted(symbols_of(problem)))

    assert values(data, answer) == {(1, 1.0, 1.0), (2, 1 - 1 / 5, 1.0), (3, 0.0, 1.0)}


def test_answers_that_do_not_parse_are_compared_as_strings(data):
    def answer(problem):
        return "& " + " ".join(sorted(symbols_of(problem)))

    assert values(data, answer) == {(1, 1.0, 1.0), (2, 1 - 1 / 5, 1 - 1 / 5), (3, 0.0, 0.0)}


def test_beyond_120_renamings_a_sample_is_taken(data):
    """Five symbols over an alphabet of five have just 120; the model sees seven here: 2,520."""
    grid = About("propositional", "fake", "some", "grid", (0, 3), (1, 6))
    for alphabet in (3, 7):
        fake = Fake(data, lambda problem: "a 1")
        fake.alphabet = alphabet
        table = predict_renamed(fake, data, grid, limit=3)
        again = predict_renamed(fake, data, grid, limit=3)
        assert table.equals(again)
        for each in covariances(table):
            assert (each.symbols, each.renamings) == (5, 120)
        names = Counter(name for row in table.to_pylist() for name in row["names"].split())
        assert len(names) == max(5, alphabet)


def test_embedding_seeds_and_limit(data):
    found = measured(data, lambda problem: "a 1", limit=7, embedding_seeds=2)
    assert len(found) == 14
    assert [each.row for each in found[:7]] == [each.row for each in found[7:]]
    assert [each.embedding_seed for each in found] == [0] * 7 + [1] * 7


@pytest.mark.parametrize(
    ("k", "alphabet"), [(0, 5), (1, 1), (1, 3), (2, 4), (3, 5), (5, 5), (3, 7)]
)
def test_renamings(k, alphabet):
    names = [symbol_name(i) for i in range(alphabet)]
    symbols = names[::-1][:k]
    found = renamings(symbols, alphabet, Random(0))
    assert found[0] == tuple(symbols)  # the problem as it is
    assert len(found) == len(set(found)) == min(perm(alphabet, k), MOST_RENAMINGS)
    assert all(len(set(new)) == k and set(new) <= set(names) for new in found)
    if perm(alphabet, k) <= MOST_RENAMINGS:
        assert set(found) == set(permutations(names, k))


def test_undoing_is_one_to_one_and_takes_back_the_renaming():
    symbols, names, alphabet = ("a", "c"), ("c", "d"), 5
    every = [symbol_name(i) for i in range(alphabet)]
    assert (
        undo(rename("& a c", dict(zip(symbols, names, strict=True))), symbols, names, 5) == "& a c"
    )
    assert sorted(undo(" ".join(every), symbols, names, alphabet).split()) == every
    assert undo("b e a", symbols, symbols, alphabet) == "b e a"


def test_equivalence_of_traces_is_decided_by_the_solver():
    ltl = load_task("ltl")
    same = ["{ & a b }", "{ & b a }", "{ ! | ! a ! b }"]
    assert count_inequivalent(ltl, same) == 1
    assert count_inequivalent(ltl, [*same, "{ a }", "a ; { a }", "{ a", "{ b"]) == 5


def test_values_follow_from_the_predictions_as_written(data):
    """An independent count: undo by the table's names, compare sets of literals."""

    def answer(problem):
        first = symbols_of(problem)[:1]
        return " ".join(f"{name} {int(name > 'a')}" for name in sorted([*first, "a"]))

    table = predict_renamed(Fake(data, answer), data, ABOUT)
    groups = {}
    for row in table.to_pylist():
        groups.setdefault(row["row"], []).append(row)
    for each in covariances(table):
        meanings = set()
        for row in groups[each.row]:
            symbols, names = symbols_of(row["problem"]), row["names"].split()
            tokens = row["prediction"].split()
            free = [n for n in "abc" if n not in symbols]
            back = {**dict(zip([n for n in "abc" if n not in names], free, strict=True))}
            back |= dict(zip(names, symbols, strict=True))
            pairs = zip(tokens[::2], tokens[1::2], strict=True)
            meanings.add(frozenset((back[name], value) for name, value in pairs))
        assert each.inequivalent == len(meanings)
        assert each.different >= each.inequivalent


def test_a_model_of_another_task_is_refused(data):
    fake = Fake(data, lambda problem: "")
    fake.task_name = "copying"
    with pytest.raises(LogicgenError, match="trained for copying"):
        predict_renamed(fake, data, ABOUT)


def test_renamings_of_small_alphabets_by_brute_force():
    for k, alphabet in product(range(4), range(3, 6)):
        names = [symbol_name(i) for i in range(alphabet)]
        injective = {new for new in product(names, repeat=k) if len(set(new)) == k}
        assert set(renamings(names[:k], alphabet, Random(1))) == injective


def test_renamings_of_a_problem_are_answered_together_where_they_are_one(data):
    """Beyond one batch, too: a canonical model decodes every problem once, whatever its names."""
    seen = []
    for canonical in (True, False):
        fake = Fake(data, lambda text: "")
        fake.canonical, fake.alphabet = canonical, 9
        batches = []

        def predict(request, batches=batches):
            fixed = len(data.vocabulary)
            batches.append({alpha_class(problem, fixed) for problem in request.problems})
            return only([[] for _ in request.problems])

        fake.predict = predict
        predict_renamed(fake, data, ABOUT)
        seen.append(batches)
    once, often = seen
    assert len(once) > 1
    assert sum(map(len, once)) == len(set().union(*once)) == len(set().union(*often))
    assert sum(map(len, often)) > len(set().union(*often))


def test_files(data, tmp_path):
    table = predict_renamed(Fake(data, lambda problem: "a 1"), data, ABOUT)
    summary = write_covariance(table, tmp_path)
    assert json.loads((tmp_path / "covariance.json").read_text()) == json.loads(json.dumps(summary))
    rows = list(csv.DictReader((tmp_path / "covariance.csv").read_text().splitlines()))
    problems = data.table("test").to_pylist()
    counts = Counter(len(symbols_of(row["problem"])) for row in problems)
    assert counts[0] > 0
    assert summary["without_renamings"] == counts[0]
    assert summary["overall"]["problems"] == len(rows) == len(problems) - counts[0]
    for k, value in ((1, 0.5), (2, 0.6), (3, 0.6)):
        part = summary["by_symbols"][str(k)]
        assert part["problems"] == counts[k]
        assert part["most_renamings"] == perm(3, k)
        for name in ("strings", "equivalence"):
            assert part[name] == pytest.approx(
                dict.fromkeys(("mean", "median", "lower_quartile", "upper_quartile"), value)
            )
    mean = (0.5 * counts[1] + 0.6 * (counts[2] + counts[3])) / len(rows)
    assert summary["overall"]["strings"]["mean"] == pytest.approx(mean)
    assert all(
        float(row["strings"]) == pytest.approx(0.5 + 0.1 * (row["symbols"] != "1")) for row in rows
    )
    said = (tmp_path / "covariance.svg").read_text()
    for label in ("exact strings", "up to equivalence", "mean", "alpha-covariance"):
        assert f"<!-- {label} -->" in said
    write_covariance(table, tmp_path / "again")
    for file in ("covariance.json", "covariance.csv", "covariance.png", "renamings.parquet"):
        assert (tmp_path / file).read_bytes() == (tmp_path / "again" / file).read_bytes()


def test_nothing_to_measure_is_said(data, tmp_path):
    table = predict_renamed(Fake(data, lambda problem: ""), data, ABOUT)
    constant = table.filter([row["names"] == "" for row in table.to_pylist()])
    assert len(constant)
    with pytest.raises(LogicgenError, match="second renaming: alpha-covariance is not defined"):
        write_covariance(constant, tmp_path)
