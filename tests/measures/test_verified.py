"""Verified decoding: what is drawn, what is accepted, and that plain and verified stay apart."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest

from logicgen.errors import LogicgenError
from logicgen.measures.evaluation import (
    read_predictions,
    write_figures,
    write_predictions,
)
from logicgen.measures.evaluation_page import evaluation_document
from logicgen.measures.predictions import SCHEMA, predict_and_verify
from logicgen.measures.verified import Outcome, VerifiedSearch, different, draw_until_accepted
from logicgen.measures.verifier import Verifier
from logicgen.model.model import Answer
from logicgen.nn.decoding import BeamSearch
from logicgen.nn.samples import Sampling
from logicgen.tasks import load_task
from logicgen.tasks.judge import Item
from logicgen.tokens import symbol_name
from tests.asking import only
from tests.measures.conftest import Parrot

pytestmark = pytest.mark.usefixtures("undrawn")


class Slow(Parrot):
    """Knows the answers, but says them only at a draw that depends on problem and embedding seed.

    Until then it says something contradictory, and something else each time.
    """

    def __init__(self, data, split):
        super().__init__(data, split)
        self.asked = []

    def predict(self, request):
        problems, embedding_seed = request.problems, request.embedding_seed
        sampling = request.decoding
        if not isinstance(sampling, Sampling):
            return only([self.said(p, embedding_seed, 0) for p in problems])
        assert sampling.temperature == 1.5
        assert sampling.seed == (embedding_seed << 32) + 1
        assert request.orders == (4 if self.reorders else 1)
        self.asked += [(tuple(problem), embedding_seed) for problem in problems]
        return [
            [
                Answer(self.said(p, embedding_seed, number), 0.0)
                for number in range(sampling.answers)
            ]
            for p in problems
        ]

    def said(self, problem, embedding_seed, number):
        if number == self.needed(problem, embedding_seed):
            return self.answers[tuple(problem)]
        return self.vocabulary.encode(f"a 1 a 0 {symbol_name(number)} 1")

    def needed(self, problem, embedding_seed):
        return (len(problem) + embedding_seed) % 7


VERIFIED = VerifiedSearch(4, Sampling(temperature=1.5))


@pytest.fixture
def scored(data, about, tmp_path):
    model = Slow(data, "grid")
    table = predict_and_verify(model, data, about, embedding_seeds=2, verified=VERIFIED)
    write_predictions(table, tmp_path)
    return model, table.to_pylist(), write_figures(tmp_path), tmp_path


def test_the_first_accepted_answer_is_kept_and_counted(scored):
    model, rows, *_ = scored
    for row in rows:
        needed = model.needed(row["problem"].split(), row["embedding_seed"])
        assert row["verdict"] == ("exact" if needed == 0 else "invalid")
        if needed < 4:
            assert row["verified_prediction"] == row["answer"]
            assert (row["verified_verdict"], row["draws"]) == ("exact", needed + 1)
        else:  # the plain prediction stands
            assert row["verified_prediction"] == row["prediction"]
            assert (row["verified_verdict"], row["draws"]) == ("invalid", 4)


def test_a_model_that_can_draws_for_four_orders(data, about, tmp_path):
    model = Slow(data, "grid")
    model.reorders = True
    table = predict_and_verify(model, data, about, verified=VERIFIED)
    assert model.asked
    write_predictions(table, tmp_path)
    assert write_figures(tmp_path)["decoding"]["verified"]["orders"] == 4


def test_only_what_is_not_accepted_is_drawn_for(scored):
    model, rows, *_ = scored
    expected = [
        (tuple(model.vocabulary.encode(row["problem"])), row["embedding_seed"])
        for row in rows
        if row["verdict"] != "exact"
    ]
    assert sorted(model.asked) == sorted(expected)


def test_plain_and_verified_accuracy_are_reported_apart(scored):
    _, rows, summary, folder = scored
    plain = np.mean([row["verdict"] == "exact" for row in rows])
    verified = np.mean([row["verified_verdict"] == "exact" for row in rows])
    assert plain < verified < 1
    overall = summary["overall"]
    assert overall["accuracy"] == pytest.approx(plain)
    assert overall["verified_accuracy"] == pytest.approx(verified)
    assert overall["draws"] == pytest.approx(np.mean([row["draws"] for row in rows]))
    by_seed = [
        np.mean([row["verified_verdict"] == "exact" for row in rows if row["embedding_seed"] == s])
        for s in (0, 1)
    ]
    assert overall["verified_accuracy_std"] == pytest.approx(np.std(by_seed, ddof=1))
    assert overall["exact"] == sum(row["verdict"] == "exact" for row in rows)  # of plain answers
    assert summary["decoding"] == {
        **{"beams": 1, "length_normalization": 1.0, "answers": 1, "grammar": True, "ensemble": 1},
        "verified": {
            "draws": 4,
            "sampling": {
                **{"temperature": 1.5, "top_k": None, "top_p": None},
                **{"seed": 0, "answers": 12},
            },
        },
    }
    assert json.loads((folder / "summary.json").read_text()) == json.loads(json.dumps(summary))


def test_the_page_has_one_name_for_verified_answers_and_decoding_in_words(scored):
    *_, folder = scored
    document = evaluation_document(*read_predictions(folder))
    assert [each["title"] for each in document.data["maps"]][1] == "right verified answers"
    labels = [each["label"] for each in document.data["answers"] + document.data["columns"]]
    assert {"verified answer", "verdict of the verified answer"} <= set(labels)
    facts = dict(document.facts[0].rows)
    assert facts["beams (1 is greedy decoding)"] == "1"
    assert facts["only answers that parse"] == "yes"
    assert facts["verified answer"] == (
        "most answers tried: 4, temperature: 1.5, seed of sampling: 0"
    )


def test_predictions_that_know_nothing_of_verified_decoding_are_still_read(scored):
    *_, folder = scored
    table, known = read_predictions(folder)
    metadata = json.loads(table.schema.metadata[b"logicgen"])
    del metadata["decoding"]
    old = table.drop_columns(SCHEMA.names[SCHEMA.names.index("verified_prediction") :])
    pq.write_table(
        old.replace_schema_metadata({"logicgen": json.dumps(metadata)}),
        folder / "predictions.parquet",
    )
    assert read_predictions(folder)[1] == replace(known, decoding={})
    assert "verified_accuracy" not in write_figures(folder)["overall"]


def test_without_it_nothing_is_drawn_or_said(data, about, tmp_path):
    table = predict_and_verify(Slow(data, "grid"), data, about, decoding=BeamSearch(3))
    for name in ("verified_prediction", "verified_verdict", "draws"):
        assert table[name].null_count == len(table)
    write_predictions(table, tmp_path)
    summary = write_figures(tmp_path)
    assert not {"verified_accuracy", "draws"} & set(summary["overall"])
    assert summary["decoding"]["beams"] == 3


def test_a_limit_that_was_reached_is_no_acceptance():
    def others(rows):
        assert rows.tolist() == [0, 2, 3]
        return [["answer 1", "answer 2", "answer 3"]] * 2 + [["answer 1"]]

    judged = []

    def judge(rows, answers):
        judged.append(rows.tolist())
        of_draw = {1: "unknown", 2: "incorrect", 3: "correct"}
        return [of_draw[int(answer[-1])] for answer in answers]

    plain = (["x", "y", "z", "few"], ["unknown", "exact", "invalid", "incorrect"])
    assert draw_until_accepted(*plain, 3, others, judge) == [
        Outcome("x", "unknown", 3),
        Outcome("y", "exact", 1),
        Outcome("z", "invalid", 3),
        Outcome("few", "incorrect", 2),  # there were no other answers
    ]
    assert judged == [[0, 2, 3], [0, 2]]
    assert draw_until_accepted(*plain, 9, others, judge)[::2] == [
        Outcome("answer 3", "correct", 4),
        Outcome("answer 3", "correct", 4),
    ]
    assert draw_until_accepted(*plain, 1, others, judge)[0] == Outcome("x", "unknown", 1)
    assert draw_until_accepted([], [], 5, others, judge) == []


def test_one_answer_of_each_meaning_likeliest_first():
    drawn = [("a 1 b 0", 0.2), ("a 0", 0.3), ("b 0 a 1", 0.2), ("b 1", 0.35), ("a 1 ^", 0.1)]
    candidates = [(answer, math.log(share)) for answer, share in drawn]
    meaning = load_task("propositional").meaning
    assert different(candidates, meaning, "c 1") == ["a 1 b 0", "b 1", "a 0", "a 1 ^"]
    assert different(candidates, meaning, "b 0 a 1") == ["b 1", "a 0", "a 1 ^"]
    assert different([], meaning, "a 1") == []
    # Each different text is one answer of the other tasks. Equally likely answers stay in order.
    words = [("a b", -1.0), ("b a", -0.5), ("c", -1.0)]
    assert different(words, load_task("copying").meaning, "a") == ["b a", "a b", "c"]


def test_no_answer_is_judged_twice(data):
    one, other = Item("| a b", "a 1", "b 1"), Item("| a b", "a 0", "b 1")
    asked = []
    with Verifier(data.task, None, 1, 10.0) as verifier:
        for items in ([one, other, one], [other], [one, Item("a", "a 1", "a 1")]):
            verdicts = verifier.verdicts(items, lambda done, total: asked.append((done, total)))
            assert verdicts == [
                {one: "correct", other: "incorrect"}.get(item, "exact") for item in items
            ]
    assert asked == [(0, 2), (2, 2), (0, 0), (0, 1), (1, 1)]


@pytest.mark.parametrize("draws", [0, 1_001])
def test_no_draws_at_all_and_too_many_are_refused(draws):
    with pytest.raises(LogicgenError, match=r"draws of verified answers, .* 1 to 1,000"):
        VerifiedSearch(draws, Sampling())
