"""What a study is planned as: which points, with which recipes, and what is refused where."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path

import pytest

from logicgen import recipes
from logicgen.data.opening import read_data_recipe as read_data
from logicgen.errors import LogicgenError
from logicgen.model.recipe import read_model_recipe as read_model
from logicgen.study.plan import combinations, open_study
from logicgen.study.recipe import EVALUATION, read_study
from logicgen.study.trial import Training
from tests.study.conftest import TINY, planned

GRID = """
[axes]
part = [
  { name = "normal", set = { "embedding.random_part" = "normal" } },
  { name = "cube", set = { "embedding.random_part" = "hypercube" } },
]
"embedding.random_width" = [4, 8, 12]
"embedding.normalize_parts" = [true, false]
"""


def trainings(path):
    """The arguments of the trainings of a study, by name of the trial."""
    return {name: trial.training for name, trial in planned(path).trials.items()}


def test_a_measure_is_of_one_kind(study_file):
    tiny = TINY.replace("copying-interchangeable", "language-learned").split("[base.set]")[0]
    tiny = tiny.replace("copying-mini", "automaton-5").replace("size = 600", "")
    tiny += '[[measure]]\nname = "it"\n'
    axes = '[axes]\ndata = ["automaton-5", "cipher-letters"]\n'
    with pytest.raises(LogicgenError, match=r"measure it: .* keys or perplexity: give it `data`"):
        planned(study_file(axes, tiny=tiny))


def test_the_product_of_the_axes_with_every_seed(study_file):
    made = planned(study_file(GRID, "seeds = [3, 5]"))
    expected = [
        f"{part},random_width={width},normalize_parts={flag}-{seed}"
        for part, width, flag, seed in itertools.product(
            ("normal", "cube"), (4, 8, 12), ("true", "false"), (3, 5)
        )
    ]
    assert list(made.trials) == expected
    assert not made.impossible
    trial = made.trials["cube,random_width=12,normalize_parts=false-5"].training
    embedding = trial.model.embedding
    assert (embedding.random_part, embedding.random_width) == ("hypercube", 12)
    assert embedding.normalize_parts is False
    assert trial.model.training.seed == 5
    assert trial.model.training.steps == 4  # of [base]
    assert trial.model.training.schedule == "cosine"  # of the model's own file
    assert sum(trial.trained.recipe.sizes.model_dump().values()) == 600


def test_keys_of_the_file_are_changed(study_file):
    changes = {
        "seeds": [7],
        "base.set.training.steps": 2,
        "evaluate.limit": 3,
        "axes.embedding.random_width": [4],
    }
    made = planned(study_file(GRID), changes)
    assert len(made.trials) == 4
    trial = made.trials["normal,random_width=4,normalize_parts=true-7"].training
    assert trial.model.training.steps == 2
    assert trial.model.network.width == 16  # of [base.set]
    assert trial.measures[0].measure.limit == 3


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("bsae.size", "tiny.toml: unknown key 'bsae'; did you mean base"),
        ("evaluate.limt", "tiny.toml: unknown key 'evaluate.limt'; did you mean limit"),
        ("seeds.first", "tiny.toml: seeds.first: seeds is a value, not a table with keys"),
    ],
)
def test_changes_of_unknown_keys_are_refused(study_file, key, words):
    with pytest.raises(LogicgenError) as refusal:
        read_study(str(study_file(GRID, "seeds = [1]")), {key: 3})
    assert words in str(refusal.value)


def test_a_sample_is_distinct_points_of_the_grid_and_the_same_every_time(study_file):
    whole = set(planned(study_file(GRID)).trials)
    samples = [
        list(planned(study_file(GRID, f"sample = 7\nsample_seed = {seed}\n")).trials)
        for seed in (0, 0, 1)
    ]
    for sample in samples:
        assert len(sample) == len(set(sample)) == 7
        assert set(sample) <= whole
    assert samples[0] == samples[1] != samples[2]
    assert set(planned(study_file(GRID, "sample = 12\n")).trials) == whole
    with pytest.raises(LogicgenError, match=r"tiny.toml: sample: 13 .* have 12"):
        planned(study_file(GRID, "sample = 13\n"))


def test_an_alternative_may_change_recipes_size_and_data(study_file):
    axes = """
    [axes]
    method = [
      { name = "mine", set = { "embedding.random_width" = 8 } },
      { name = "other", model = "copying-learned", data = "copying-20", size = 900, data_set = \
{ "region.length" = [3, 9], names = "perturbed" } },
    ]
    """
    tiny = TINY.replace('"embedding.random_width" = 8\n', "")
    trials = trainings(study_file(axes, tiny=tiny))
    mine, other = trials["mine-0"], trials["other-0"]
    assert mine.model.embedding.method == "interchangeable"
    assert other.model.embedding.method == "learned"
    assert other.model.network.width == 16  # [base.set] is of all
    assert mine.trained.recipe == read_data("copying-mini").resized(600).model_copy(
        update={"description": ""}
    )
    assert other.trained.name == "copying-20"
    assert other.trained.recipe.region.length == (3, 9)
    assert other.trained.recipe.names == "perturbed"
    assert sum(other.trained.recipe.sizes.model_dump().values()) == 900
    assert mine.trained.folder != other.trained.folder


def test_evaluation_on_the_data_of_the_base(study_file):
    axes = '[axes]\nnames = [{ name = "p", data_set = { names = "perturbed" } }]'
    own = trainings(study_file(axes))["p-0"]
    assert [each.data for each in own.measures] == [own.trained]
    base = trainings(study_file(axes, tiny=TINY + 'data = "base"\n'))["p-0"]
    assert base.trained == own.trained
    (evaluated,) = (each.data for each in base.measures)
    assert evaluated.recipe.names == "shuffled"
    assert evaluated.recipe.region == base.trained.recipe.region


def test_settings_are_chosen_on_data_of_another_seed(study_file):
    tiny = TINY.replace("size = 600", "size = 600\ndata_seed = 2")
    reported = trainings(study_file())["normal-0"]
    chosen = trainings(study_file(tiny=tiny))["normal-0"]
    assert (chosen.trained.seed, reported.trained.seed) == (2, 0)
    assert chosen.trained.recipe == reported.trained.recipe
    assert chosen.trained.folder == f"{reported.trained.folder}-2"
    assert [each.data for each in chosen.measures] == [chosen.trained]
    base = trainings(study_file(tiny=tiny + 'data = "base"\n'))["normal-0"]
    assert [each.data.seed for each in base.measures] == [2]


def test_a_measure_has_data_of_its_own(study_file):
    tiny, _, _ = TINY.replace("size = 600", "size = 600\ndata_seed = 2").partition("[evaluate]")
    measures = """
    [[measure]]
    name = "fresh"
    data = "copying-20"
    data_seed = 1
    size = 300
    [[measure]]
    name = "same-seed"
    data = "copying-20"
    """
    axes = '[axes]\nseed = [{ name = "x" }]'
    (trial,) = trainings(study_file(axes, tiny=tiny + measures)).values()
    fresh, other = (each.data for each in trial.measures)
    assert (fresh.seed, other.seed) == (1, 2)
    assert sum(fresh.recipe.sizes.model_dump().values()) == 300


def test_a_trial_survives_being_written_down(study_file):
    made = planned(study_file(GRID))
    for name, trial in made.trials.items():
        assert name == trial.name
        assert Training.model_validate_json(json.dumps(trial.arguments)) == trial.training


def test_points_whose_recipes_are_wrong_are_impossible_and_the_others_are_not(study_file):
    axes = """
    [axes]
    "embedding.random_width" = [8, 16, "8"]
    variant = [
      { name = "good" },
      { name = "misspelt", set = { "embedding.random_prt" = "normal" } },
      { name = "missing", model = "copying-lerned" },
      { name = "inside-a-value", set = { "training.steps.most" = 5 } },
      { name = "other-data", data_set = { "region.size" = 5 } },
    ]
    """.replace('8, 16, "8"', "8, 16")
    made = planned(study_file(axes))
    assert list(made.trials) == ["random_width=8,good-0"]
    reason = made.impossible
    assert "random_width: 16 leaves nothing to learn" in reason["random_width=16,good-0"]
    assert "'embedding.random_prt'" in reason["random_width=8,misspelt-0"]
    assert "copying-interchangeable.toml" in reason["random_width=8,misspelt-0"]
    assert "did you mean copying-learned" in reason["random_width=8,missing-0"]
    assert "steps is a value" in reason["random_width=8,inside-a-value-0"]
    assert "'region.size'" in reason["random_width=8,other-data-0"]
    assert all("\n" not in each for each in reason.values())


@pytest.mark.parametrize(
    ("axes", "words"),
    [
        ("[axes]\n", "axes"),
        ('[axes]\n"training.steps" = []', "axes.training.steps: has no values"),
        ("[axes]\ntraining.steps = [1]", "axes.training: input should be a valid list"),
        ('[axes]\n"training.steps" = [1, 1]', "the name '1' occurs twice"),
        ('[axes]\n"training.seed" = [1, 2]', "give the numbers as seeds"),
        ('[axes]\nm = [{ name = "../x" }]', "'../x' cannot be a file's name"),
        ('[axes]\n"axis.m" = [1]', "an axis's name cannot begin with axis."),
        ('[axes]\nm = [{ name = "a,b" }]', "'a,b' cannot be a file's name"),
        ("[axes]\nm = [{ set = {} }]", "key 'axes.m.0.name' is missing"),
        ('[axes]\nm = [{ name = "x", steps = 3 }]', "unknown key 'axes.m.0.steps'"),
        ('[axes]\nm = [{ name = "x", from = "y" }]', "axes.m: x starts from 'y'"),
        ('[axes]\nm = [{ name = "x", from = "x" }]', "axes.m: x starts from 'x'"),
        ('[axes]\nm = [{ name = "x", from = "y" }, { name = "y" }]', "must come earlier"),
        (
            '[axes]\n"training.steps" = [1]\nm = [{ name = "x", set = { "training.steps" = 2 } }]',
            "axes 'training.steps' and 'm' both change set training.steps",
        ),
    ],
)
def test_a_study_that_is_none_is_refused(study_file, axes, words):
    path = study_file(axes)
    with pytest.raises(LogicgenError) as refusal:
        planned(path)
    assert str(refusal.value).startswith(f"{path}: ")
    assert words in str(refusal.value)


def test_what_the_evaluation_cannot_do_is_refused(study_file):
    with pytest.raises(LogicgenError, match=r"gramar.*grammar"):
        planned(study_file(tiny=TINY + "gramar = false\n"))
    fine = trainings(study_file(tiny=TINY + "grammar = false\nverified = 4\n"))
    assert all(each.measures[0].measure.verified == 4 for each in fine.values())
    for key in ("split", "covariance"):
        value = '"tset"' if key == "split" else '{ split = "tset" }'
        lines = [line for line in TINY.splitlines() if not line.startswith(f"{key} =")]
        wrong = planned(study_file(tiny="\n".join([*lines, f"{key} = {value}", ""])))
        assert not wrong.trials
        assert all("no split 'tset'" in reason for reason in wrong.impossible.values())


def test_a_trial_that_starts_from_another(study_file):
    axes = """
    [axes]
    method = [
      { name = "first" }, { name = "second", from = "first" }, { name = "third", from = "second" },
    ]
    "embedding.random_part" = ["normal", "hypercube"]
    """
    trials = trainings(study_file(axes, "seeds = [0, 7]"))
    assert trials["second,hypercube-7"].start == "first,hypercube-7"
    assert trials["third,hypercube-7"].start == "second,hypercube-7"
    assert trials["first,hypercube-7"].start is None
    broken = axes.replace('name = "first" }', 'name = "first", model = "nothing" }')
    made = planned(study_file(broken))
    why = made.impossible["second,normal-0"]
    assert why.startswith("starts from first,normal-0, which cannot be trained: ")
    so = f"starts from second,normal-0, which cannot be trained: {why}"
    assert made.impossible["third,normal-0"] == so
    assert not made.trials


def test_a_trial_that_starts_from_kept_weights(study_file):
    axes = """
    [axes]
    method = [
      { name = "kept", weights = "ltl-imitation" },
      { name = "after", from = "kept" },
      { name = "both", from = "kept", weights = "ltl-imitation" },
      { name = "lost", weights = "nothing" },
    ]
    """
    made = planned(study_file(axes))
    kept = made.trials["kept-0"].training
    assert (kept.weights, kept.start) == ("ltl-imitation", None)
    folder = recipes.folder("studies") / "weights" / "ltl-imitation"
    context = made.context(made.trials["kept-0"], Path("out"), "cpu")
    assert context["source"] == str(folder)
    assert made.trials["after-0"].training.weights is None
    assert "kept-0-" in made.context(made.trials["after-0"], Path("out"), "cpu")["source"]
    assert made.impossible["both-0"].endswith("weights and from: only one can name the start")
    assert "weights/nothing holds no trained model" in made.impossible["lost-0"]


STUDIES = recipes.names("studies", ".toml")


@pytest.mark.parametrize("name", STUDIES)
def test_shipped_studies_can_be_trained(name):
    made = open_study(name)
    assert not made.impossible
    if made.whole:
        return  # an experiment, which trains in its own way
    assert read_study(name).description
    trials = [trial.training for trial in made.trials.values()]
    for trial in trials:
        if trial.measures[0].measure.name != EVALUATION:
            continue  # language models, whose rows are as many as their tokens
        embedding, region = trial.model.embedding, trial.trained.recipe.region
        if embedding.method in ("learned", "alpha-renaming"):
            assert embedding.max_symbols >= region.symbols[1]
    seen = [(t.model, t.trained, t.measures) for t in trials]
    assert all(a != b for a, b in itertools.combinations(seen, 2)), "two trials are the same"


def test_recipes_with_changes():
    assert read_model("copying-learned", {"training.steps": 7}).training.steps == 7
    assert read_model("copying-learned").training.steps != 7
    with pytest.raises(LogicgenError, match=r"copying-learned.toml: training.steps: .* not 0"):
        read_model("copying-learned", {"training.steps": 0})


def test_the_page_about_studies_is_true(tmp_path):
    page = (Path(__file__).resolve().parents[2] / "docs" / "studies.md").read_text()
    (example,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    (tmp_path / "my-widths.toml").write_text(example)
    made = planned(tmp_path / "my-widths.toml")
    assert not made.impossible
    assert len(combinations(read_study(str(tmp_path / "my-widths.toml")))) == 8
    assert len(made.trials) == 16
    folders = {recipes.find("studies", ".toml", name).parent.name for name in STUDIES}
    assert set(re.findall(r"^\| `studies/([\w-]+)/` \|", page, re.M)) == folders


@pytest.mark.parametrize("more", ["", f"sample = {10**18}", f"seeds = {list(range(3_001))}"])
def test_an_absurd_number_of_trials_is_refused(study_file, more):
    axes = "" if "seeds" in more else "".join(f'"a{n}" = [1, 2, 3]\n' for n in range(200))
    with pytest.raises(LogicgenError, match=r"tiny.toml: asks for [\d,]+ trials, .* 3,000 are"):
        planned(study_file(GRID + axes, more))
