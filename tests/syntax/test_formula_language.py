"""The fast reader against Lark: the same texts, the same formulas."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from logicgen.errors import FormatError
from logicgen.syntax import ltl, propositional
from tests.syntax.test_formula import formulas

LANGUAGES = {"propositional": propositional(), "ltl": ltl()}
READERS = {name: language.reader for name, language in LANGUAGES.items()}
languages = pytest.mark.parametrize("name", LANGUAGES)

BINARY = ["&", "|", "^", "->", "<->", "U", "R", "W", "M"]
UNARY = ["!", "X", "F", "G"]

pieces = st.sampled_from([*BINARY, *UNARY, *"()A_ \n01a", "b0", "xor", "true", "false", "é"])


def by_lark(language, text):
    try:
        return language.language.read(text)
    except FormatError:
        return None


@languages
@given(parts=st.lists(pieces, max_size=12))
@example(parts=["a", " ", "xor", "b0"])
@example(parts=["X", "0"])
@example(parts=["X", " ", "0"])
@example(parts=["true", "a"])
def test_any_text_is_read_as_lark_reads_it_or_left_to_lark(name, parts):
    text = "".join(parts)
    expected = by_lark(LANGUAGES[name], text)
    assert READERS[name].read(text) in (expected, None)
    if expected is not None:
        assert LANGUAGES[name].read(text) is expected
        # Only an operator word that touches its operand is left to Lark.
        assert READERS[name].read(text) is expected or "xor" in text
    else:
        with pytest.raises(FormatError):
            LANGUAGES[name].read(text)


@given(formula=formulas([*"abcd", "p0", "req"], 12, UNARY, BINARY))
def test_formulas_are_read_back_fast_and_by_lark(formula):
    text = ltl().write(formula)
    assert READERS["ltl"].read(text) is formula
    assert ltl().language.read(text) is formula
    assert ltl().read_either(text) is formula
    assert ltl().read_either(formula.prefix) is formula
    assert READERS["ltl"].read(text.replace("(", "((").replace(")", "))")) is formula


@pytest.mark.parametrize(
    ("text", "prefix"),
    [
        ("GFa", "G F a"),
        ("XXa", "X X a"),
        ("FGp0", "F G p0"),
        ("X(0)", "X 0"),
        ("!Xa U b", "U ! X a b"),
        ("Fa U Gb & c", "& U F a G b c"),
        ("a U b U c", "U a U b c"),
        ("a U b R c W d M e", "U a R b W c M d e"),  # one level, to the right, as in Spot
        ("a & b U c", "& a U b c"),
        ("a ^ b & c | d -> e", "-> | ^ a & b c d e"),
        ("F a & b", "& F a b"),
        ("X!X(a)", "X ! X a"),
        ("aUb", "aUb"),  # a name
        ("a Ub", "U a b"),
        ("G(req -> XF grant)", "G -> req X F grant"),
    ],
)
def test_precedence_and_juxtaposition_are_those_of_spot(text, prefix):
    assert ltl().read(text).prefix == prefix


@pytest.mark.parametrize(
    ("text", "column", "remedy"),
    [
        ("Abc & d", 1, "capital letters X F G U R W M are operators"),
        ("a U Req", 5, "Req is read as R eq: begin symbols in lower case"),
        ("Y a", 1, "past operators"),
        ("a S b", 3, "past operators"),
        ("{a;b}[]-> c", 1, "PSL"),
        ("a []-> b", 3, "PSL"),
        ("X[!]a", 2, "PSL"),
        ("[]a", 1, "written G"),
        ("<>a", 1, "written F"),
        ("a V b", 3, "written R"),
        ("a && b", 4, "written &"),
        ("a || b", 4, "written |"),
        ("a and b", 3, "written &"),
        ("a or b", 3, "written |"),
        ("a implies b", 3, "written ->"),
        ("not a", 5, "written !"),
        ("a ; b", 3, "unexpected ';': PSL"),
        ("aU b", 4, "expected &"),
        ("X0", 2, "X(0)"),
        ("GF1", 3, "X(0)"),
    ],
)
def test_errors_say_what_to_do(text, column, remedy):
    for read in (ltl().read, ltl().read_either):
        with pytest.raises(FormatError) as error:
            read(text)
        assert (error.value.line, error.value.column) == (1, column)
        assert remedy in str(error.value)


def test_prefix_tokens_are_separated_by_blanks():
    assert ltl().read_prefix("F 1") is ltl().read("F(1)")
    with pytest.raises(FormatError, match="blanks"):
        ltl().read_prefix("X0")


@pytest.mark.slow
def test_depth_is_no_limit():
    depth = 30_000
    nested = ltl().read("X!" * depth + "a")
    assert nested.length == 2 * depth + 1
    assert ltl().write(nested) == "X!" * depth + "a"
    right = ltl().read(" U ".join(["a"] * depth))
    assert right.length == 2 * depth - 1
    left = ltl().read("(" * depth + "a" + " U b)" * depth)
    assert ltl().read(ltl().write(left)) is left


def test_operators_of_ltl_are_named_in_propositional_logic():
    with pytest.raises(
        FormatError, match="unexpected 'U': X F G U R W M are operators of the task"
    ):
        propositional().read("a U b")
