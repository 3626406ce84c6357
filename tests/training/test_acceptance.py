"""Learning from verdicts: what is learnt of a round, resuming, and what cannot be."""

from __future__ import annotations

import json
import signal

import numpy as np
import pytest
import torch

from logicgen.data.opening import load_dataset
from logicgen.errors import LogicgenError
from logicgen.library import train
from logicgen.model.checkpoint import load_model
from logicgen.model.kinds import new_model
from logicgen.nn.linear import bfloat16_products
from logicgen.solvers import Verdict
from logicgen.training.acceptance import EASY, AcceptanceLearner, Row, advantages
from logicgen.training.attempts import Attempt, Attempts, Round, last_round
from logicgen.training.curriculum import Curriculum
from logicgen.training.fit import fit, training_data
from logicgen.training.loop import Steps
from tests.data.data_sets import make
from tests.training.conftest import TABLES, recipe_with
from tests.training.test_fit import losses, weights

RIGHT, WRONG, UNKNOWN = Verdict.CORRECT, Verdict.INCORRECT, Verdict.UNKNOWN
ACCEPTED = {"training": {"learn": "accepted"}}
METHODS = ("expert-iteration", "policy-gradient", "right-tokens")


def accepting(method="expert-iteration", steps=6, **reward):
    """Return a recipe that learns from verdicts in rounds of three steps."""
    training = {"steps": steps, "batch_size": 16, "learn": "accepted", "learning_rate": 1e-3}
    own = {"problems": 20, "draws": 4, "steps": 3, "method": method}
    tables = {key: reward.pop(key) for key in ("embedding", "canonical") if key in reward}
    return recipe_with(training=training, reward={**own, **reward}, **tables)


def trained(learnt, out, recipe, **settings):
    """Train from the small model."""
    data = training_data(recipe, learnt.data)
    return fit(recipe, data, out, start=learnt.run, quiet=True, **settings)


def interrupted_after(step, monkeypatch, *arguments, **settings):
    """Train, and send SIGINT to ourselves in the midst of a step."""
    original = Steps.step

    def make_step(self, batch):
        if self.done == step - 1:
            signal.raise_signal(signal.SIGINT)
        return original(self, batch)

    with monkeypatch.context() as patch:
        patch.setattr(Steps, "step", make_step)
        with pytest.raises(KeyboardInterrupt, match=rf"after step {step} of 6.*--resume"):
            trained(*arguments, **settings)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_a_training_that_is_stopped_in_a_round_goes_on_exactly(
    learnt, tmp_path, monkeypatch, method
):
    recipe = accepting(method)
    whole, run = trained(learnt, tmp_path / "whole", recipe), tmp_path / "run"
    for stop in (2, 4):
        interrupted_after(stop, monkeypatch, learnt, run, recipe, resume=True)
    trained(learnt, run, recipe, resume=True)
    for name, value in weights(whole).items():
        assert torch.equal(value, weights(run)[name]), name
    if method != "policy-gradient":
        assert losses(run) == losses(whole)
    names = sorted(path.name for path in (whole / "rounds").iterdir())
    assert names == ["000000.json", "000001.json"]
    for name in names:
        assert (run / "rounds" / name).read_bytes() == (whole / "rounds" / name).read_bytes()
    assert json.loads((whole / "model.json").read_text())["recipe"]["reward"]["method"] == method


def test_the_logs_tell_of_steps_and_rounds(learnt, tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    run = trained(learnt, tmp_path / "run", accepting())
    events = EventAccumulator(str(run / "logs")).Reload()
    told = "accepted solved worth different unknown length entropy symbolless commonest distance"
    names = {f"round_{name}" for name in (*told.split(), "verdicts", "waiting")}
    assert names <= {*events.Tags()["scalars"]}
    distance = [each.value for each in events.Scalars("round_distance")]
    assert abs(distance[0]) < 1e-3 < abs(distance[-1])  # the model at first, and after three steps


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS[:2])
def test_right_answers_become_more_probable_than_wrong_ones(learnt, tmp_path, method):
    """Compare means with the weights that problems have in training."""
    recipe = accepting(method, steps=200, problems=80, stored=0.0)
    once = recipe.reward.model_copy(update={"steps": 200})
    run = trained(learnt, tmp_path / "run", recipe.model_copy(update={"reward": once}))
    rows, weights = {True: [], False: []}, []
    encode = load_model(run).vocabulary.encode
    for asked in last_round(run).asked:
        right, wrong = (
            [each for each in asked.attempts if each.verdict.is_right == wanted]
            for wanted in (True, False)
        )
        if right and wrong:
            weights.append(EASY + asked.worth)
            for which, each in ((True, right), (False, wrong)):
                likeliest = max(each, key=lambda attempt: attempt.score)
                rows[which].append(Row(encode(asked.problem), encode(likeliest.answer)))

    def mean(path, rows):
        """Return the mean log-probability of answers."""
        learner = AcceptanceLearner.__new__(AcceptanceLearner)
        learner.model = load_model(path, "cpu")
        with torch.no_grad():
            logs = learner.model.log_probabilities(learner._batch(0, rows), torch.Generator())
        return float(np.average(logs.sum(1), weights=weights))

    gained = {right: mean(run, each) - mean(learnt.run, each) for right, each in rows.items()}
    assert gained[True] > gained[False] + 0.1


RENAMING = {
    **dict.fromkeys(TABLES["embedding"]),
    "method": "alpha-renaming",
    "normalize_rows": True,
    "max_symbols": 6,
}


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"embedding": RENAMING},
        {"embedding": {**RENAMING, "resample": "sequence"}},
        {"canonical": True},
    ],
    ids=["interchangeable", "alpha-renaming", "of-sequences", "canonical"],
)
def test_ratios_begin_at_one(learnt, tmp_path, changes):
    """Compute the probabilities of answers as they were drawn: without dropout, on equal rows."""
    recipe = accepting("policy-gradient", symbols=[1, 6], **changes)
    data = training_data(recipe, learnt.data)
    torch.manual_seed(0)
    learner = AcceptanceLearner(new_model(recipe, data).train(), data, tmp_path)
    problems = [("a", "a 1"), ("& b a", "b 1 a 1"), ("| c ! a", "c 1"), ("^ f e", "")]
    answers = learner.rounds._answers([problem for problem, _ in problems], number=0)
    learner.close()
    encode = learner.model.vocabulary.encode
    rows = [
        Row(encode(problem), encode(text), advantage, score)
        for (problem, _), drawn in zip(problems, answers, strict=True)
        for (text, score), advantage in zip(drawn, (1.0, -1.0, 1.0, -1.0), strict=True)
    ]
    learner.model.train()
    loss, measures = learner._policy_gradient(0, rows, True)
    assert measures["ratio"] == pytest.approx(1.0, abs=1e-4)
    assert measures["clipped"] == 0
    assert loss.item() == pytest.approx(0.0, abs=1e-4)
    loss.backward()
    assert learner.model.training
    assert any(each.grad is not None and each.grad.any() for each in learner.model.parameters())


def test_the_distance_compares_float32_with_float32(learnt, tmp_path):
    """Before the first step the model is the model that it began as, also in bfloat16."""
    recipe = accepting(temperature=0.5)
    data = training_data(recipe, learnt.data)
    torch.manual_seed(0)
    learner = AcceptanceLearner(new_model(recipe, data), data, tmp_path)
    drawn = learner.rounds._answers(problems := ["a", "& b a", "| c ! a"], number=0)
    learner.close()
    attempts = [[Attempt(text, score, RIGHT)] for [(text, score), *_] in drawn]
    asked = [Attempts(problem, each) for problem, each in zip(problems, attempts, strict=True)]
    with bfloat16_products():
        measures = learner._measured(Round(0, asked, 0, Curriculum()))
    assert measures["round_distance"] == pytest.approx(0.0, abs=1e-5)


def test_fresh_problems_may_have_symbols_that_no_stored_one_has(tmp_path, learnt):
    region = {"symbols": [1, 4], "length": [1, 4], "balance": "length"}
    make(tmp_path / "data", {"region": region, "names": "first-occurrence", "grid": None})
    data = load_dataset(tmp_path / "data")
    recipe = accepting(steps=2, symbols=[1, 5], length=[1, 9])
    assert data.encoded("train").alphabet < 4
    for changed in (recipe, accepting(steps=2)):
        chosen = training_data(changed, data)
        model = new_model(changed, chosen)
        symbols = (changed.reward.symbols or region["symbols"])[1]
        assert model.training_symbols == symbols


def test_which_answers_are_imitated(learnt, tmp_path):
    attempts = [
        Attempt("b 1", -2.0, WRONG),
        Attempt("a 1 b 1 c 1", -1.0, RIGHT),
        Attempt("a 1 b 0", -3.0, RIGHT),
        Attempt("a 1 b 0", -3.0, RIGHT),
        Attempt("a 1 b 1", -2.5, RIGHT),
        Attempt("a 0", -0.1, UNKNOWN),
    ]
    expected = {
        None: ["a 1 b 1 c 1"],
        "likeliest": ["a 1 b 1 c 1"],
        "shortest": ["a 1 b 1"],
        "all": ["a 1 b 1 c 1", "a 1 b 0", "a 1 b 1"],
        "any": ["a 1 b 1 c 1", "a 1 b 0", "a 1 b 1"],
    }
    for which, answers in expected.items():
        recipe = accepting(answers=which)
        learner = AcceptanceLearner.__new__(AcceptanceLearner)
        learner.reward = recipe.reward
        assert learner._imitable(Attempts("a", attempts)) == answers


def masked(batch, right):
    """Return the mask of the right tokens of a batch if no token is likely."""
    return right(torch.zeros(*batch.targets.shape, 200))


def test_right_tokens_are_learnt_until_an_answer_is_wrong(learnt, tmp_path, monkeypatch):
    """Ask `& a b`, answered rightly and wrongly at the second token, and `& a ! a`."""
    recipe = accepting("right-tokens", stored=0.0)
    data = training_data(recipe, learnt.data)
    learner = AcceptanceLearner(new_model(recipe, data).train(), data, tmp_path)
    learner.close()
    asked = [
        Attempts("& a b", [Attempt("b 1 a 1", -1.0, RIGHT), Attempt("a 0", -1.0, WRONG)]),
        Attempts("& a ! a", [Attempt("a 1", -1.0, WRONG)]),
    ]
    (lesson,) = learner._learnt(Round(0, asked, 0, Curriculum()))
    assert lesson.weight == 0.05 + 0.5
    seen = []
    monkeypatch.setattr(
        learner.model, "right_loss", lambda batch, right, *_: seen.append(masked(batch, right))
    )
    learner._right_tokens(0, lesson.rows, torch.Generator(), False)
    token = data.vocabulary.token
    sets = [[{token(int(i)) for i in place.nonzero()} for place in row] for row in seen[0]]
    assert sets == [
        [{"a", "b"}, {"1"}, {"a"}, {"1"}, {"<end>"}],
        [{"a", "b"}, {"1"}, set(), set(), set()],  # `0` is wrong: nothing is right behind it
    ]


def test_likely_tokens_of_traces_are_judged(tmp_path, monkeypatch):
    """Ask `& a X b`, answered rightly and wrongly, where `b` and `{` are likely everywhere."""
    make(tmp_path / "data", {"task": "ltl", "solver": None, "verifier": None, "problem": {}})
    recipe = accepting("right-tokens", draws=1, curriculum=False)
    data = training_data(recipe, load_dataset(tmp_path / "data"))
    learner = AcceptanceLearner(new_model(recipe, data).train(), data, tmp_path)
    learner.close()
    attempts = [Attempt("a ; { b }", -1.0, RIGHT), Attempt("{ a }", -2.0, WRONG)]
    (lesson,) = learner._learnt(Round(0, [Attempts("& a X b", attempts)], 0, Curriculum()))
    assert lesson.weight == 1.0
    vocabulary, seen = learner.model.vocabulary, []

    def look(batch, right, *_):
        probability = torch.zeros(*batch.targets.shape, 30)
        probability[..., vocabulary.encode("b {")] = 0.5
        seen.extend(right(probability))

    monkeypatch.setattr(learner.model, "right_loss", look)
    learner._right_tokens(0, lesson.rows, torch.Generator(), False)
    sets = [[{vocabulary.token(int(i)) for i in place.nonzero()} for place in row] for row in seen]
    assert sets[0][:5] == [{"a", "{"}, {";"}, {"{", "b"}, {"b"}, {"}"}]
    # After `{`, only `a` and what may precede it is right; after `{ a`, only a further position.
    assert sets[1] == [{"{"}, {"a"}, {";"}, set(), set(), set()]


def test_traces_are_learnt_from_likely_tokens(tmp_path):
    make(tmp_path / "data", {"task": "ltl", "solver": None, "verifier": None, "problem": {}})
    recipe = accepting("right-tokens", draws=1, curriculum=False)
    data = training_data(recipe, load_dataset(tmp_path / "data"))
    learner = AcceptanceLearner(new_model(recipe, data).train(), data, tmp_path)
    asked = [Attempts("& a X b", [Attempt("a ; { b }", -1.0, RIGHT)])]
    learner.rounds.round = lambda number: Round(number, asked, 0, Curriculum())
    loss, measures = learner.loss(0, torch.Generator(), True)
    learner.close()
    assert torch.isfinite(loss)
    assert loss > 0
    assert "token_accuracy" in measures


def test_any_accepted_answer_is_right(learnt, tmp_path, monkeypatch):
    """Read `a 1`, where `b 0` is accepted, too, and a stored answer alone."""
    recipe = accepting(answers="any", steps=3)
    data = training_data(recipe, learnt.data)
    learner = AcceptanceLearner(new_model(recipe, data).train(), data, tmp_path)
    asked = [Attempts("| a b", [Attempt("a 1", -1.0, RIGHT), Attempt("b 1", -2.0, RIGHT)])]
    monkeypatch.setattr(
        learner.rounds, "round", lambda number: Round(number, asked, 0, Curriculum())
    )
    seen = []
    monkeypatch.setattr(
        learner.model,
        "right_loss",
        lambda batch, right, *_: (
            seen.append((batch, masked(batch, right))) or (torch.tensor(0.0), {})
        ),
    )
    learner.loss(0, torch.Generator(), False)
    learner.close()
    ((batch, right),) = seen
    own = batch.problems.shape[0] * 3 // 4
    token = data.vocabulary.token
    firsts = [{token(int(i)) for i in row[0].nonzero()} for row in right]
    assert firsts[:own] == [{"a", "b"}] * own
    assert right[:own, 1].sum(-1).tolist() == [1] * own
    assert right[own:].sum() == (batch.targets[own:] != 0).sum()


def test_any_answer_has_the_order_of_its_problem(learnt, tmp_path):
    """Only the order of `& b a` counts, in which two of its three answers are the same."""
    recipe = accepting(answers="any")
    data = training_data(recipe, learnt.data)
    learner = AcceptanceLearner(new_model(recipe, data).train(), data, tmp_path)
    learner.close()
    attempts = [Attempt(text, -1.0, RIGHT) for text in ("a 1 b 1", "b 1 a 1", "c 0 a 1 b 1")]
    (lesson,) = learner._learnt(Round(0, [Attempts("& b a", attempts)], 0, Curriculum()))
    decode, encode = data.vocabulary.decode, data.vocabulary.encode
    assert [decode(row.answer) for row in lesson.rows] == ["b 1 a 1", "b 1 a 1 c 0"]
    assert lesson.rows[0].right.along(["b", "1", "a", "1"])[-1] == ["<end>", "c"]
    stored = learner._stored(np.array(encode("& b a")), np.array(encode("a 1 b 1")))
    assert decode(stored.answer) == "b 1 a 1"
    assert stored.right.along(["b", "1"]) == [["b"], ["1"], ["a"]]


def test_right_tokens_need_a_task_that_tells_them(tmp_path):
    own = {"task": "copying", "solver": None, "verifier": None, "problem": {}}
    make(tmp_path / "data", own)
    recipe = accepting("right-tokens")
    data = training_data(recipe, load_dataset(tmp_path / "data"))
    with pytest.raises(
        LogicgenError, match=r"reward\.method: 'right-tokens': copying: .* cannot be computed"
    ):
        AcceptanceLearner(new_model(recipe, data), data, tmp_path)


def test_advantages_compare_the_answers_to_a_problem():
    def of(*verdicts):
        return advantages(Attempts("a", [Attempt("a 1", -1.0, verdict) for verdict in verdicts]))

    assert of(RIGHT, WRONG) == [1.0, -1.0]
    assert of(RIGHT, WRONG, WRONG, WRONG) == pytest.approx([3**0.5, *[-(3**-0.5)] * 3])
    assert of(RIGHT, UNKNOWN, WRONG) == [1.0, 0.0, -1.0]
    for alike in ((RIGHT, RIGHT), (WRONG, WRONG, UNKNOWN), (UNKNOWN,), ()):
        assert of(*alike) == [0.0] * len(alike)


def test_a_round_without_anything_to_learn_leaves_stored_examples(learnt, tmp_path, monkeypatch):
    """Make a round for policy gradients in which all answers to each problem are alike."""
    recipe = accepting("policy-gradient")
    data = training_data(recipe, learnt.data)
    model = new_model(recipe, data)
    model.start_from(load_model(learnt.run, "cpu"), "start")
    learner = AcceptanceLearner(model, data, tmp_path)
    alike = [Attempts("a", [Attempt("a 0", -1.0, WRONG)] * 2), Attempts("b", [])]
    monkeypatch.setattr(
        learner.rounds, "round", lambda number: Round(number, alike, 0, Curriculum())
    )
    own, stored = learner._rows(0)
    learner.close()
    assert (len(own), len(stored)) == (0, 16)
    assert torch.isfinite(learner.loss(0, torch.Generator(), True)[0])


@pytest.mark.slow
def test_other_held_out_data_make_another_run(learnt, tmp_path):
    make(tmp_path / "other", seed=9)
    recipe, other = accepting(steps=3), load_dataset(tmp_path / "other")
    trained(learnt, tmp_path / "run", recipe, held_out=[other])
    with pytest.raises(LogicgenError, match="this run has another held_out"):
        trained(learnt, tmp_path / "run", accepting(steps=6), resume=True)
    trained(learnt, tmp_path / "run", accepting(steps=6), held_out=[other], resume=True)


def test_an_untrained_model_is_refused(learnt, tmp_path):
    recipe = accepting()
    with pytest.raises(LogicgenError, match=r"an untrained model has no right answers.*--from RUN"):
        fit(recipe, training_data(recipe, learnt.data), tmp_path / "run", quiet=True)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"reward": {}}, r"\[reward\]: goes with training.learn = 'accepted'"),
        ({"training": {"learn": "everything"}}, r"'everything' is not for .*'right' or 'accepted'"),
        (
            {**ACCEPTED, "reward": {"method": "policy-gradient", "draws": 1}},
            r"draws: 1, but 'policy-gradient' compares.*at least 2",
        ),
        ({**ACCEPTED, "reward": {"draws": 1}}, "draws: 1, .*or curriculum = false"),
        ({**ACCEPTED, "reward": {"clip": 0.1}}, "clip: is for 'policy-gradient', not"),
        (
            {"training": {"schedule": "constant", "final_rate": 1e-5}},
            "final_rate: is for 'cosine', not 'constant'",
        ),
        (
            {"training": {"optimizer": "adafactor", "betas": [0.8, 0.9]}},
            "betas: 'adafactor' has none",
        ),
        ({**ACCEPTED, "reward": {"length": [9, 3]}}, r"length\n.*range \[9, 3\] is empty"),
    ],
)
def test_recipes_that_contradict_themselves_are_refused(tables, message):
    with pytest.raises(ValueError, match=message):
        recipe_with(**tables)


def test_keys_of_rewards_can_be_set_together_with_what_is_learned(tmp_path):
    """The recipe alone has no `[reward]`. The next error is about the data, which do not exist."""
    wanted = {"changes": ["reward.draws=2"], "run": tmp_path / "run"}
    with pytest.raises(LogicgenError, match=r"\[reward\]: goes with training.learn"):
        train("ltl-symbol-invariant", tmp_path / "nothing", **wanted)
    with pytest.raises(LogicgenError, match="nothing: "):
        train("ltl-symbol-invariant", tmp_path / "nothing", learn="accepted", **wanted)


def test_the_table_is_there_with_its_defaults():
    recipe = recipe_with(training={"learn": "accepted"})
    assert recipe.reward is not None
    assert recipe.reward.draws == 8
    assert recipe.learning("answers").reward is None
    assert recipe_with().learning("accepted").reward == recipe.reward
