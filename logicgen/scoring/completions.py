"""Find and read the answer in a completion (the text that a language model wrote).

First, a rule finds the place of the answer; it looks at the completion alone. Then a grammar,
`grammars/completion.lark`, derives the whole text of that place and translates it to the notation
of the task. No character is skipped, so a text that the grammar does not derive is not an answer.
In `strict` mode the place is the text between answer tags. In `tolerant` mode it can also be the
whole completion: the grammar then derives the answer and the phrases around it.

docs/reading-answers.md states the rules and lists every spelling.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any, ClassVar, Literal, get_args

import lark
from lark.common import LexerConf
from lark.lexer import Lexer, TerminalDef, Token
from lark.parsers.lalr_analysis import Shift

from logicgen import recipes
from logicgen.errors import FormatError, LogicgenError, shown
from logicgen.syntax.answers import NO_ANSWER, Assignment, Trace
from logicgen.tasks.formula_task import FormulaTask
from logicgen.tasks.task import Task

Mode = Literal["strict", "tolerant"]

LONGEST_COMPLETION = 1 << 20
"""The most characters that are read in a completion. A longer completion is `invalid`."""

LONGEST_ANSWER = 20_000
"""The most characters that are read in an answer, or in a completion without answer tags."""

_TAG, _END_TAG = "<answer>", "</answer>"
_THOUGHT_BEGINS = ("<think>", "<thinking>", "<reasoning>", "◁think▷", "<|channel|>")
_THOUGHT_ENDS = (
    "</think>",
    "</thinking>",
    "</reasoning>",
    "◁/think▷",
    "<|channel|>final<|message|>",
)

# By name of the answer language of a task: the rule of the grammar that derives an answer.
_RULES = {"assignment": "assignment", "trace": "trace", "letters": "symbols", "symbols": "symbols"}


class NoAnswerError(LogicgenError):
    """A completion that gives no answer, or several different answers."""


def check_mode(mode: str) -> None:
    """Raise LogicgenError if there is no such mode."""
    if mode not in get_args(Mode):
        raise LogicgenError(f"mode: {mode!r}; it is 'strict' or 'tolerant'")


def read_completion(task: Task, completion: str, mode: Mode = "strict") -> Any:
    """Return the answer of a completion as a value of the task.

    Raises NoAnswerError if the completion gives no answer or several different answers. Raises
    FormatError if the text between answer tags is not an answer of the task.
    """
    text = _after_thinking(completion)
    if mode == "strict" or _has_only_tags(text):
        return read_place(task, _between_tags(text))
    return _agreed(task, _derive(task, f"told_{_rule(task)}", text.strip()))


def read_place(task: Task, text: str) -> Any:
    """Parse a text that must be an answer from its beginning to its end.

    The notation of the task is tried first, then the spellings of `completion.lark`. Raises
    FormatError, or NoAnswerError for a text that is too long.
    """
    _check_length(text)
    text = text.strip()
    try:
        return task.read_answer(text)
    except FormatError as error:
        try:
            return _agreed(task, _derive(task, _rule(task), text))
        except (NoAnswerError, FormatError):
            raise error from None


def _agreed(task: Task, answers: Sequence[str]) -> Any:
    """Return the common value of the given answers. Raises NoAnswerError if they differ."""
    first, *others = [_value(task, answer) for answer in answers]
    if not all(task.same(first, other) for other in others):
        raise NoAnswerError("the completion gives several different answers")
    return first


def _value(task: Task, answer: str) -> Any:
    """Parse an answer that `completion.lark` translated to the notation of the task.

    Raises FormatError.
    """
    if answer == NO_ANSWER.infix and isinstance(task, FormulaTask):
        return NO_ANSWER
    # `task.read_answer` also accepts prefix notation, to which `completion.lark` never translates.
    match task.answer_language.name:
        case "assignment":
            return Assignment.read(answer)
        case "trace":
            return Trace.read(answer)
    return task.answer_language.read(answer)


# ---- where the answer is ----


def _after_thinking(completion: str) -> str:
    """Return the text after the last thought. Raises NoAnswerError if a thought does not end."""
    ends = [completion.rfind(mark) + len(mark) for mark in _THOUGHT_ENDS if mark in completion]
    text = completion[max(ends, default=0) :]
    if any(mark in text for mark in _THOUGHT_BEGINS):
        raise NoAnswerError("the thinking at the beginning does not end")
    return text


def _between_tags(text: str) -> str:
    """Return the text between the answer tags. Raises NoAnswerError without exactly one pair."""
    begins, ends = text.count(_TAG), text.count(_END_TAG)
    if begins == 0 and ends == 0:
        raise NoAnswerError("there is no <answer>...</answer>")
    if begins != 1 or ends != 1 or text.index(_END_TAG) < text.index(_TAG):
        raise NoAnswerError("<answer> and </answer> must each occur once, in this order")
    return text.partition(_TAG)[2].partition(_END_TAG)[0]


def _has_only_tags(text: str) -> bool:
    """Return whether one pair of answer tags is the only mark of an answer in a text."""
    before, begin, rest = text.partition(_TAG)
    _, end, after = rest.partition(_END_TAG)
    if not begin or not end or any(map(_MARK.search, (before, after))) or _LEAD.search(after):
        return False
    # A phrase such as "the answer is" may precede the tag.
    return all(lead.end() == len(before) for lead in _LEAD.finditer(before))


# Marks of a second answer in a completion with answer tags.
_MARK = re.compile(
    r"</?(?:final_)?answer|</?solution|\[/?answer\]|<\|begin_of_box|\\boxed|\\fbox|```|~~~",
    re.IGNORECASE,
)
_LEAD = re.compile(
    r"(?<![^\W_])answers?(?![^\W_])(?:\W{0,4}(?<!\w)(?:is|are)(?!\w)|[ \t*_]{0,4}:)[\s*_$`:]*",
    re.IGNORECASE,
)


# ---- answers that the grammar derives ----


def _rule(task: Task) -> str:
    """Return the name of the grammar rule that derives the answers of a task."""
    name = task.answer_language.name
    if name not in _RULES:
        raise NoAnswerError(f"answers of {task.name} are read between answer tags only")
    return _RULES[name]


def _derive(task: Task, start: str, text: str) -> list[str]:
    """Return the answers in a text, in the notation of the task. Raises NoAnswerError."""
    _check_length(text)
    if not text:
        raise NoAnswerError("the completion is empty")
    try:
        # The parser calls `_Translator`, so the result is a list of answers instead of a tree.
        found: Any = _parser(_rule(task)).parse(text.replace("\r\n", "\n"), start=start)
    except lark.exceptions.UnexpectedToken:  # the text ended before the answer was complete
        raise NoAnswerError("the text ends before its answer does") from None
    answers: list[str] = found
    return answers


def _check_length(text: str) -> None:
    """Raise NoAnswerError for a text that is too long."""
    if len(text) > LONGEST_ANSWER:
        raise NoAnswerError(
            f"the answer has {len(text):,} characters; the limit is {LONGEST_ANSWER:,}"
        )


@cache
def _parser(rule: str) -> lark.Lark:
    """Return the parser of answers and completions (cached).

    rule: the name of the grammar rule that derives one answer.
    """
    path = recipes.find("grammars", ".lark", "completion")
    return lark.Lark(
        path.read_text(encoding="utf-8"),
        parser="lalr",
        lexer=CompletionLexer,
        start=[rule, f"told_{rule}"],
        transformer=_Translator(),
        maybe_placeholders=False,
    )


# ---- the lexer ----


class CompletionLexer(Lexer):
    """A lexer that yields, at each place, the token with the highest priority that can follow.

    Lark's own contextual lexer takes every token for which the LALR table has an entry. Some of
    these entries come from other contexts, so Lark can choose a token that the parser then refuses.
    This lexer first asks the table whether the parser would accept the token. Its rule is simple
    enough for docs/reading-answers.md, section 6. Raises NoAnswerError if no token can follow.
    """

    __future_interface__: ClassVar = 2  # makes Lark call `lex` with the state of its parser

    def __init__(self, conf: LexerConf) -> None:
        self._terminals = sorted(
            conf.terminals,
            key=lambda each: (-each.priority, -each.pattern.max_width, -len(each.pattern.value)),
        )
        self._ignored = frozenset(conf.ignore)
        self._scanners: dict[Any, _Scanner] = {}

    def lex(self, lexer_state: Any, parser_state: Any) -> Iterator[Token]:
        """Yield the tokens of the text. The parser has taken each token before the next is read."""
        text, place = getattr(lexer_state.text, "text", lexer_state.text), 0
        table = parser_state.parse_conf.states
        while place < len(text):
            state = parser_state.position
            if state not in self._scanners:
                possible = self._ignored.union(table[state])
                self._scanners[state] = _Scanner(t for t in self._terminals if t.name in possible)
            for name, found in self._scanners[state].matches(text, place):
                if name not in self._ignored:
                    if _accepts(table, parser_state.state_stack, name):
                        yield Token(name, found, place)
                        break
                elif 0 < place < len(text) - len(found):  # a blank between two tokens is skipped
                    break
            else:
                raise NoAnswerError(_unread(text, place))
            place += len(found)


class _Scanner:
    """The terminals (kinds of tokens) that may come next in one state of the parser."""

    def __init__(self, terminals: Iterable[TerminalDef]) -> None:
        patterns = [(each.name, each.pattern.to_regexp()) for each in terminals]
        self._single = [(name, re.compile(pattern)) for name, pattern in patterns]
        self._number = {name: number for number, (name, _) in enumerate(patterns, start=1)}
        self._first = re.compile("|".join(f"(?P<{name}>{pattern})" for name, pattern in patterns))

    def matches(self, text: str, place: int) -> Iterator[tuple[str, str]]:
        """Yield the names of terminals that match at a place, each with the matched text."""
        # One regular expression finds the first terminal that matches. It is usually right.
        first = self._first.match(text, place)
        if first is None or first.lastgroup is None:
            return
        yield first.lastgroup, first[0]
        for name, pattern in self._single[self._number[first.lastgroup] :]:
            if found := pattern.match(text, place):
                yield name, found[0]


def _accepts(table: Any, stack: list[Any], token: str) -> bool:
    """Return whether a parser with this stack of states can shift a token, after reductions."""
    depth = len(stack)
    above: list[Any] = []  # the stack is now stack[:depth] + above
    while (step := table[above[-1] if above else stack[depth - 1]].get(token)) is not None:
        action, rule = step
        if action is Shift:
            return True
        popped = len(rule.expansion)
        depth -= max(popped - len(above), 0)
        del above[max(len(above) - popped, 0) :]
        below = above[-1] if above else stack[depth - 1]
        above.append(table[below][rule.origin.name][1])
    return False


def _unread(text: str, place: int) -> str:
    """Return a message about the place where the text cannot be read any further."""
    line = text.count("\n", 0, place) + 1
    column = place - text.rfind("\n", 0, place)
    rest = shown(text[place:].split("\n")[0][:40])
    return f"line {line}, column {column}: an answer cannot be read from {rest}"


# ---- the translation ----


class _Sign(str):
    """`1` or `unsat` as an answer of logic. In a look-up, these texts can also be values."""


class _Translator(lark.Transformer[Any, Any]):
    """Translates a derivation of `completion.lark` to the notation of the task."""

    def answers(self, children: list[str | lark.Token]) -> list[str]:
        """Return the answers of a completion.

        Raises NoAnswerError if the text around an answer contradicts the answer, for example
        if it calls the formula satisfiable and the answer is `unsat`.
        """
        claims = {child.type for child in children if isinstance(child, lark.Token)}
        answers = [str(child) for child in children if not isinstance(child, lark.Token)]
        signs = {str(child) for child in children if isinstance(child, _Sign)}
        none = "unsat" in signs
        if (
            (none and claims & {"SATISFIABLE", "SATISFIES", "VALUES"})
            or ("1" in signs and "VALUES" in claims)
            or (not none and "UNSATISFIED" in claims)
        ):
            raise NoAnswerError("the text around the answer contradicts it")
        return answers

    def empty(self, _: list[Any]) -> list[str]:
        return ["1"]

    def values(self, equations: list[str | lark.Token]) -> str:
        return ", ".join(_counted(equations))

    def columns(self, cells: list[str | lark.Token]) -> str:
        """Translate a list of names, separated by commas, and a list of their values.

        The grammar reads each name as a literal such as `a=1`.
        """
        literals, values = cells[: len(cells) // 2], cells[len(cells) // 2 :]
        if not all(literal.endswith("=1") for literal in literals):  # a name is negated
            raise NoAnswerError("the values are given to something else than symbols")
        return self.table([*(literal.removesuffix("=1") for literal in literals), *values])

    def table(self, cells: list[str]) -> str:
        """Translate a row of names and the row of their values."""
        names = [cell for cell in cells if cell not in ("0", "1")]
        if 2 * len(names) != len(cells):
            raise NoAnswerError("the numbers of names and of values differ")
        values = cells[len(names) :]
        return ", ".join(f"{name}={value}" for name, value in zip(names, values, strict=True))

    def nothing(self, _: list[Any]) -> str:
        return _Sign("1")

    def no_answer(self, _: list[Any]) -> str:
        return _Sign("unsat")

    def equation(self, sides: list[str]) -> str:
        name, value = sides
        return f"{_plain_name(name)}={value}"

    def positive(self, names: list[str]) -> str:
        return f"{_plain_name(names[0])}=1"

    def negative(self, names: list[str]) -> str:
        return f"{_plain_name(names[-1])}=0"

    def same(self, literals: list[str]) -> str:
        return literals[0]

    def name(self, tokens: list[str]) -> str:
        return _plain_name(tokens[0])

    def value(self, tokens: list[lark.Token]) -> str:
        if len({token.type for token in tokens}) > 1:
            raise NoAnswerError(f"{tokens[0]} and {tokens[1]} are different values")
        return "1" if tokens[0].type == "ONE" else "0"

    def trace(self, tokens: list[lark.Token]) -> str:
        return " ".join(_TRACE_TOKENS.get(each.type) or _plain_name(each) for each in tokens)

    def zero(self, tokens: list[lark.Token]) -> str:
        if tokens[0] != "0":
            raise NoAnswerError(f"{tokens[0]} is not a trace; an unsatisfiable formula has `unsat`")
        return _Sign("unsat")

    def symbols(self, words: list[lark.Token]) -> str:
        return " ".join(_counted(words))


def _counted(items: Sequence[str | lark.Token]) -> list[str]:
    """Return the items of a list without their numbers, if they have numbers.

    Raises NoAnswerError if the numbers are not 1, 2, 3, ...
    """
    numbers = [item for item in items if isinstance(item, lark.Token) and item.type == "NUMBER"]
    if [int(re.sub(r"\D", "", number)) for number in numbers] != [*range(1, len(numbers) + 1)]:
        raise NoAnswerError("the items of the list are not numbered 1, 2, 3, ...")
    return [str(item) for item in items if not isinstance(item, lark.Token) or item.type == "WORD"]


_TRACE_TOKENS = {
    "AND": "&",
    "OR": "|",
    "NOT": "!",
    "XOR": "^",
    "IMPLIES": "->",
    "IFF": "<->",
    "TRUE": "1",
    "FALSE": "0",
    "LPAR": "(",
    "RPAR": ")",
    "SEMICOLON": ";",
    "PERIOD": "{",
    "END_PERIOD": "}",
}

_LATEX = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789", "\\{}")


def _plain_name(symbol: str) -> str:
    """Return a symbol without LaTeX: `x_1` for `x_{1}` and `x\\_1`."""
    return symbol.translate(_LATEX)
