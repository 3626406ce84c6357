"""Formulas, answers, and how they are written."""

from logicgen.syntax.assignment import Assignment
from logicgen.syntax.formula import Formula
from logicgen.syntax.formula_language import FormulaLanguage, formula_language, ltl, propositional
from logicgen.syntax.trace import Trace

__all__ = [
    "Assignment",
    "Formula",
    "FormulaLanguage",
    "Trace",
    "formula_language",
    "ltl",
    "propositional",
]
