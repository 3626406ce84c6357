"""Formulas, answers, and how they are written."""

from logicgen.syntax.answers import Assignment, Trace
from logicgen.syntax.formula import Formula
from logicgen.syntax.formula_language import FormulaLanguage, formula_language, ltl, propositional

__all__ = [
    "Assignment",
    "Formula",
    "FormulaLanguage",
    "Trace",
    "formula_language",
    "ltl",
    "propositional",
]
