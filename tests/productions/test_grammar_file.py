"""Grammar files: strict reading, and writing."""

import numpy as np
import pytest

from logicgen.errors import LogicgenError
from logicgen.productions import cut, grammar_text, random_grammar
from tests.productions.small import listed, read
from tests.test_page_examples import blocks

BIG = "[[layer]]\nbig = { tokens = { big = 1.0 }, below = { cat = 1.0 } }\n"
CAT = "[[layer]]\ncat = { tokens = { cat = 1.0 } }\n"


def test_a_file(tmp_path):
    grammar = read(tmp_path, 'description = "one sentence"\npositions = 2\n' + BIG + CAT)
    assert grammar.words == ("big", "cat")
    assert grammar.units == (("big",), ("cat",))
    assert grammar.start.tolist() == [1]
    published = read(tmp_path, blocks("inductive", "toml")[0])
    prompt = published.encode("tiny dog")[None]
    assert published.log_probabilities(prompt) == pytest.approx(-3.6888794541139363)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (BIG.replace("big = 1.0", "big = 0.9") + CAT, "layer 1: unit big: tokens: sums to 0.9"),
        (BIG.replace("cat = 1.0", "cat = 0.5") + CAT, "layer 1: unit big: below: sums to 0.5"),
        (BIG.replace("cat = 1.0", "cta = 1.0") + CAT, "'cta' is no unit of the layer below: did"),
        ("positions = 1\n" + BIG + CAT, "2 layers for 1 positions"),
        ("positions = 3\n" + BIG + CAT, "2 layers for 3 positions"),
        (BIG, "chooses units below, but there is no layer below"),
        (CAT + CAT, "layer 1: unit cat: key below is missing"),
        ('words = ["big"]\n' + BIG + CAT, "layer 2: unit cat: 'cat' is no word"),
        ('words = ["big", "cat", "big"]\n' + BIG + CAT, "a word is listed twice"),
        ("start = { bgi = 1.0 }\n" + BIG + CAT, "start: 'bgi' is no unit: did you mean big"),
        ("start = { big = 0.7 }\n" + BIG + CAT, "start: sums to 0.7"),
        (BIG.replace("cat = 1.0", "cat = -1.0") + CAT, "greater than or equal to 0"),
        (BIG.replace("cat = 1.0", "cat = nan") + CAT, "finite"),
        (BIG.replace("below", "blow") + CAT, "blow"),
        ("[[layer]]\n", "layer 1: has no units"),
        ("", "key 'layer' is missing"),
        ("[[layer]]\n'a b' = { tokens = { x = 1.0 } }\n", "'a b': has a blank or colon"),
        ("[[layer]]\na = { tokens = { '<end>' = 1.0 } }\n", "word '<end>'"),
        ("[[layer]]\na = { tokens = { _ = 1.0 } }\n", "word '_'"),
        ("[[layer]]\na = {}\n", "tokens"),
        ("layer = 3\n", "layer"),
        ("[[layer\n", "not TOML"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, text, says):
    with pytest.raises(LogicgenError) as error:
        read(tmp_path, text)
    assert says in str(error.value)
    assert "g.toml" in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("seed", range(5))
def test_written_and_read_again(tmp_path, seed):
    grammar = random_grammar(3, 3, 5, np.random.default_rng(seed))
    again = read(tmp_path, grammar_text(grammar, 'says "hello"'))
    assert again.words == grammar.words
    assert again.units == grammar.units
    ids, probabilities = grammar.sentences()
    assert np.exp(again.log_probabilities(ids)) == pytest.approx(probabilities, rel=1e-12)


def test_units_that_are_never_on_are_left_out(tmp_path):
    grammar = cut(read(tmp_path, TWO), "big", "cat")
    again = read(tmp_path, grammar_text(grammar))
    assert again.units == (("small",), ("dog",))
    assert listed(again) == {"small dog": 1}


TWO = """
[[layer]]
big = { tokens = { big = 1.0 }, below = { cat = 1.0 } }
small = { tokens = { small = 1.0 }, below = { dog = 1.0 } }

[[layer]]
cat = { tokens = { cat = 1.0 } }
dog = { tokens = { dog = 1.0 } }
"""


def test_what_was_typed_is_made_to_sum_to_one(tmp_path):
    grammar = read(tmp_path, "[[layer]]\na = { tokens = { x = 0.3333333, y = 0.6666666 } }\n")
    assert grammar.tokens[0].sum() == 1


def test_random_grammars():
    rng = np.random.default_rng(0)
    own = random_grammar(3, 4, 7, rng, own_words=True, concentration=0.2)
    for said in own.tokens:
        assert ((said > 0).sum(axis=1) <= 1).all()
    tiny = random_grammar(3, 2, 5, rng, concentration=1e-4)
    assert all(np.isfinite(said).all() for said in tiny.tokens)
    with pytest.raises(LogicgenError, match="3 units cannot each have words of their own of 2"):
        random_grammar(3, 2, 2, rng, own_words=True)
    same = (random_grammar(2, 2, 3, np.random.default_rng(1)).as_dict() for _ in range(2))
    assert next(same) == next(same)
