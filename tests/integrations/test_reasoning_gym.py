"""The data sets for Reasoning Gym, made, scored and combined by the real package."""

from __future__ import annotations

import pickle
from itertools import islice

import pytest

from logicgen.errors import LogicgenError
from logicgen.scoring.prompts import answer_text
from logicgen.tasks import TASKS, load_task

pytest.importorskip("reasoning_gym", reason="pip install 'logicgen[reasoning-gym]'")

import reasoning_gym
from reasoning_gym.coaching import CurriculumAttributeConfig, CurriculumExperimentConfig
from reasoning_gym.coaching.base_curriculum import DefaultCurriculumContext, RangeAttributeMode
from reasoning_gym.coaching.experiment import CurriculumExperiment
from reasoning_gym.composite import CompositeConfig, CompositeDataset, DatasetSpec
from reasoning_gym.dataset import ReseedingDataset
from reasoning_gym.factory import create_curriculum, get_score_answer_fn
from reasoning_gym.utils import extract_answer
from reasoning_gym.version_manager import DatasetVersionManager

import logicgen.integrations.reasoning_gym  # noqa: F401 - registers the data sets

pytestmark = pytest.mark.trainer

NAMES = [f"logicgen_{task}" for task in TASKS]


def test_every_task_is_there():
    assert set(NAMES) <= set(reasoning_gym.factory.DATASETS)


@pytest.mark.parametrize("name", NAMES)
def test_items_depend_on_configuration_and_index_alone(name):
    data = reasoning_gym.create_dataset(name, seed=1234, size=10)
    again = reasoning_gym.create_dataset(name, seed=1234, size=20)
    entries = list(data)
    assert len(entries) == len(data) == 10
    assert [again[number] for number in (7, 3)] == [entries[7], entries[3]]
    assert reasoning_gym.create_dataset(name, seed=4321)[3]["question"] != entries[3]["question"]
    for number, entry in enumerate(entries):
        about = entry["metadata"]
        assert (about["source_dataset"], about["source_index"]) == (name, number)
        assert 8 <= about["length"] <= 20
        assert about["difficulty"] == {"symbols": (2, 4), "length": (8, 20)}
        assert entry["question"].endswith(f": {about['problem']}")
        assert data.category == "logic"


@pytest.mark.parametrize("name", NAMES)
def test_stored_answers_score_and_others_do_not(name):
    """Check what the package's own tests ask of a data set, and what answers are paid."""
    data = reasoning_gym.create_dataset(name, size=10, seed=1234)
    for entry in data:
        assert isinstance(entry["answer"], str)
        assert data.score_answer(answer=entry["answer"], entry=entry) == 1.0
        completion = f"<think>Hm.</think> {answer_text(entry['answer'])}"
        assert data.score_answer(completion, entry) == 1.0
        assert data.score_answer(extract_answer(completion), entry) == 1.0
        for bad in (None, "", "I do not know.", "unsat", answer_text("unsat"), 7, "<answer>"):
            assert data.score_answer(bad, entry) == 0.0, bad
    assert get_score_answer_fn(name)(data[0]["answer"], data[0]) == 1.0


def test_what_stands_for_nothing_scores_nothing():
    data = reasoning_gym.create_dataset("logicgen_ltl", seed=0)
    entry = {"metadata": {"problem": "G a", "source_dataset": "logicgen_ltl"}}
    assert data.score_answer("{a}", entry) == 1.0
    assert data.score_answer("a & !a ; {a}", entry) == 0.0
    assert data.score_answer("{a & !a}", entry) == 0.0
    propositional = reasoning_gym.create_dataset("logicgen_propositional", seed=0)
    assert propositional.score_answer("a & !a", {"metadata": {"problem": "a | b"}}) == 0.0


def test_a_cascade_scores_once():
    """The base class of newer versions scores again with a blank for `~`."""
    data = reasoning_gym.create_dataset("logicgen_propositional", seed=0)
    entry = {"metadata": {"problem": "a & b"}}
    assert data.score_answer("a, b", entry) == 1.0
    for answer in ("~a, b", "\\lnot a, b", "$a, b$ or not"):
        assert data.score_answer_cascade(answer, entry) == data.score_answer(answer, entry) == 0.0


def test_a_tolerant_data_set_reads_answers_anywhere():
    data = reasoning_gym.create_dataset("logicgen_propositional", seed=0, mode="tolerant")
    entry = data[0]
    for said in (entry["answer"], f"The answer is {entry['answer']}."):
        assert data.score_answer(said, entry) == 1.0


def test_what_cannot_be_decided_scores_nothing(undecided):
    data = reasoning_gym.create_dataset("logicgen_ltl", seed=0)
    assert data.score_answer("{a}", data[0]) == 0.0


def test_prompts_have_examples_and_another_notation_where_asked():
    data = reasoning_gym.create_dataset("logicgen_ltl", seed=0, examples=2, notation="prefix")
    question = data[0]["question"]
    assert "Example 2" in question
    assert "Polish notation" in question


def test_a_composite_draws_from_all_of_them():
    specs = [DatasetSpec(name=name, weight=1.0, config={}) for name in NAMES]
    versions = DatasetVersionManager()
    data = CompositeDataset(CompositeConfig(size=20, seed=42, datasets=specs), versions)
    entries = list(data)
    assert {entry["metadata"]["source_dataset"] for entry in entries} == set(NAMES)
    for entry in entries:
        assert data.score_answer(entry["answer"], entry) == 1.0
        assert data.score_answer_with_id(entry["answer"], entry["metadata"]["entry_id"]) == 1.0
    data.update_dataset_config("logicgen_ltl", {"min_length": 20, "max_length": 24})
    assert 20 <= data.datasets["logicgen_ltl"][0]["metadata"]["length"] <= 24


def test_a_data_set_can_be_sent_to_another_process():
    data = reasoning_gym.create_dataset("logicgen_permutation")
    assert pickle.loads(pickle.dumps(data))[5] == data[5]


def test_a_data_set_can_be_drawn_from_for_ever():
    data = ReseedingDataset(reasoning_gym.create_dataset("logicgen_copying", seed=0), chunk_size=3)
    questions = [entry["question"] for entry in islice(data, 7)]
    assert len(set(questions)) == 7


@pytest.mark.parametrize("name", NAMES)
def test_curriculum(name):
    """Check what the package's own tests ask of a curriculum."""
    curriculum = create_curriculum(name)
    base = {"size": 150, "seed": 1}
    lengths = load_task(name.removeprefix("logicgen_")).difficulty.length
    made = curriculum.generate_configuration(base)
    assert (made.size, made.seed) == (150, 1)
    assert (made.min_symbols, made.max_symbols) == (2, 2)
    assert (made.min_length, made.max_length) == (lengths[0], lengths[0])
    curriculum.increment_attr_level("symbols")
    curriculum.increment_attr_level("length")
    made = curriculum.generate_configuration(base)
    assert (made.min_symbols, made.max_symbols) == (2, 4)
    assert (made.min_length, made.max_length) == (lengths[0], lengths[1])
    curriculum.decrement_attr_level("symbols")
    made = curriculum.generate_configuration(base)
    assert (made.max_symbols, made.max_length) == (2, lengths[1])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("mode", list(RangeAttributeMode))
def test_every_level_of_a_curriculum_holds_problems(name, mode):
    curriculum = create_curriculum(name)
    context = DefaultCurriculumContext(mode=mode, k=2)
    for level in range(len(load_task(name.removeprefix("logicgen_")).difficulty.symbols)):
        curriculum.set_global_level(level)
        config = curriculum.generate_configuration({"seed": 0}, context=context)
        entry = reasoning_gym.create_dataset(name, **vars(config))[0]
        assert config.min_length <= entry["metadata"]["length"] <= config.max_length


def test_an_experiment_raises_the_difficulty_and_keeps_scores():
    levels = {name: CurriculumAttributeConfig({"*": 0}) for name in NAMES}
    config = CurriculumExperimentConfig(levels)
    experiment = CurriculumExperiment("some", config, size=10, seed=0)
    entry = experiment.get_dataset_entry(0)
    about = entry["metadata"]
    assert experiment.score_answer_with_id(entry["answer"], about["entry_id"]) == 1.0
    assert experiment.score_answer_with_id(None, about["entry_id"]) == 0.0
    experiment.score_board.aggregate()
    experiment.update_difficulty("logicgen_ltl", "increment")
    raised = experiment.composite.datasets["logicgen_ltl"].config
    assert (raised.min_length, raised.max_length, raised.max_symbols) == (5, 10, 4)


def test_settings_that_cannot_be_are_refused():
    def first(**settings):
        return reasoning_gym.create_dataset("logicgen_permutation", seed=0, **settings)[0]

    for settings, said in [
        ({"min_symbols": 5}, "min_symbols, max_symbols: 5, 4"),
        ({"min_length": 0}, "min_length, max_length: 0, 20"),
        ({"mode": "lenient"}, "'strict' or 'tolerant'"),
        ({"timeout": 0}, "timeout: 0"),
        ({"examples": 9}, "has 0 to 3"),
        ({"min_length": 13, "max_length": 13}, "found no problem"),
    ]:
        with pytest.raises(LogicgenError, match=said):
            first(**settings)
    with pytest.raises(LogicgenError, match="no metadata 'problem'"):
        reasoning_gym.create_dataset("logicgen_ltl", seed=0).score_answer("{a}", {})
