"""Formulas, answers, and how they are written."""

from logicgen.syntax.assignment import Assignment
from logicgen.syntax.formula import Formula
from logicgen.syntax.formula_language import FormulaLanguage, formula_language, propositional

__all__ = ["Assignment", "Formula", "FormulaLanguage", "formula_language", "propositional"]
