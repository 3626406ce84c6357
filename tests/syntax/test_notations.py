"""Unicode and LaTeX."""

from __future__ import annotations

from hypothesis import given

from logicgen.syntax import propositional
from logicgen.syntax.formula_language import ltl
from logicgen.syntax.rewriting import latex, plain, spaced, unicode
from tests.syntax.test_formula import formulas


def test_latex():
    assert latex("(a -> !p12) & req_x") == (r"( a \rightarrow \lnot p_{12} ) \land \mathit{req\_x}")
    assert latex("1 <-> 0") == r"\top \leftrightarrow \bot"
    assert latex("GFa M Xb") == r"\mathsf{G} \mathsf{F} a \mathbin{\mathsf{M}} \mathsf{X} b"
    assert latex("a ; {!b}") == r"a ; \{ \lnot b \}"


def test_unicode():
    assert unicode("G(a1 -> X F grant10) ^ 1 & 0 | !b") == "□(a1 → ○ ◇ grant10) ⊕ ⊤ ∧ ⊥ ∨ ¬b"
    assert plain("a U b") == "a U b"


@given(formulas())
def test_what_is_written_in_unicode_reads_back(formula):
    language = propositional()
    assert language.read(plain(unicode(language.write(formula)))) == formula


def test_temporal_operators_read_back():
    language = ltl()
    formula = language.read("G(a -> XFb U (c R !d)) W X(0) M F(1)")
    for text in (language.write(formula), spaced(language.write(formula))):
        assert language.read(plain(unicode(text))) == formula
        assert language.read(text) == formula


def test_a_symbol_does_not_touch_the_operator_before_it():
    assert spaced("GFgrant & Xa U aX") == "GF grant & X a U aX"
