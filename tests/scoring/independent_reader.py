"""A second reader of answers, to test the first one with.

It follows docs/reading-answers.md and shares no code with the first reader. Only the notations of
the tasks are read by the package. The tokens are read from the list of spellings in section 6 when
this module is imported. The rules of sections 2 to 4 stand below in the same notation: names in
capitals are tokens, names in small letters are rules. Earley's algorithm finds all ways to derive a
text and what they mean. At each place, only the tokens with the highest number go on, each with its
longest choice. If several tokens share this number, all of them go on. A text is an answer if all
its derivations mean the same. What section 5 says is not checked.
"""

import re
from collections import defaultdict
from functools import cache
from itertools import accumulate, chain, product

from logicgen.errors import LogicgenError
from logicgen.tasks import load_task
from tests.scoring.spellings import spellings

# The notation of section 6 as trees: ("code", pattern), ("name", name), ("all", trees),
# ("one", trees), ("?", tree), ("*", tree)

PART = re.compile(
    r"(?P<fence>`+)(?P<code>.+?)(?<!`)(?P=fence)(?!`)|(?P<name>\w+)|(?P<sign>[()?*,])| +"
)


def code(span):
    """A code span of the page as a tree."""
    span = span[1:-1] if span[0] == span[-1] == " " else span
    found = re.fullmatch(r'/(?P<pattern>.+)/(?P<flag>i?)|"(?P<text>.+)"(?P<i>i)', span)
    if found and found["pattern"]:
        return "code", re.compile(found["pattern"], re.I if found["flag"] else 0)
    if found:
        return "code", re.compile(re.escape(found["text"]), re.I)
    return "code", re.compile(re.escape(span))


def notation(text):
    """The tree of one line."""
    assert not PART.sub("", text), text
    parts = PART.finditer(text)

    def choices():
        sequences = [[]]
        for part in parts:
            if part["code"] or part["name"]:
                sequences[-1].append(code(part["code"]) if part["code"] else ("name", part["name"]))
            elif part["sign"] == "(":
                sequences[-1].append(choices())
            elif part["sign"] == ")":
                break
            elif part["sign"] == ",":
                sequences.append([])
            elif part["sign"]:
                sequences[-1][-1] = (part["sign"], sequences[-1][-1])
        return "one", [("all", sequence) for sequence in sequences]

    return choices()


TOKENS, NUMBER = {}, {}
SECTION = spellings().replace(",\n\n    ", ", ")
for found in re.finditer(r"^- \*\*([A-Z_]+)\*\*(?: \[(\d+)\])?: (.+)$", SECTION, re.M):
    TOKENS[found[1]], NUMBER[found[1]] = notation(found[3]), int(found[2] or 0)
TOKENS["NIL"], NUMBER["NIL"] = (
    notation("`0` END_OF_WORD"),
    NUMBER["FALSE"],
)  # "a FALSE that is written so"


def ends(tree, text, starts):
    """All places where the tree can end, if it begins at one of the starts."""
    kind, inner = tree
    if kind == "code":
        return {found.end() for start in starts if (found := inner.match(text, start))}
    if kind == "name":
        return ends(TOKENS[inner], text, starts)
    if kind == "one":
        return set().union(*(ends(part, text, starts) for part in inner))
    if kind == "all":
        for part in inner:
            starts = starts and ends(part, text, starts)
        return starts
    reached = new = starts
    while (new := ends(inner, text, new) - reached) and kind == "*":
        reached = reached | new
    return reached | new


def source(tree):
    """A regular expression that matches wherever the tree does, though perhaps a shorter text."""
    kind, inner = tree
    if kind == "code":
        return f"(?{'i' if inner.flags & re.I else ''}:{inner.pattern})"
    if kind in ("one", "all"):
        return "(?:" + ("|" if kind == "one" else "").join(map(source, inner)) + ")"
    return source(TOKENS[inner]) if kind == "name" else source(inner) + kind


@cache
def quick(token):
    return re.compile(source(TOKENS[token]))


def longest(token, text, start):
    """The end of the longest choice, or the start if none fits."""
    return (
        max(ends(TOKENS[token], text, {start}), default=start)
        if quick(token).match(text, start)
        else start
    )


MARKED_ITEM = "{0}, BOLD {0} END_BOLD, TICK {0} END_TICK, DOLLAR {0} END_DOLLAR"
MARKED = MARKED_ITEM + ", OPEN_QUOTE {0} CLOSE_QUOTE, TEXT {0} RBRACE"
BRACKETS = "{0}, LBRACE {0} RBRACE, LBRACKET {0} RBRACKET, LPAR {0} RPAR"
LIST = (
    "DASH {0} (COMMA, STOP)* (DASH {0} (COMMA, STOP)*)*, NUMBER {0} (COMMA, "
    "STOP)* (NUMBER {0} (COMMA, STOP)*)*"
)
SERIES = (
    "{0} {0} {0}*, {0} SEPARATOR AND_WORD? {0}, {0} SEPARATOR {0} (SEPARATOR {0})* "
    "(SEPARATOR, AND_WORD, SEPARATOR AND_WORD) {0}"
)
RULES = f"""
strict: place STOP?
tolerant: OPENING* (place STOP?, sentence) (sentence, BOX place STOP? RBRACE STOP?)*
    (CLOSING, SATISFIES, UNSATISFIED, END_OF_TURN)*
sentence: (lead, SATISFIABLE) place STOP?, BOLD (LEAD, THUS) (LEAD, THUS)* place STOP?
    END_BOLD STOP?
lead: phrase phrase*, (HEADING, HASHES) (LEAD, TITLE, BOLD_LEAD), HASHES, DASH BOLD_LEAD
phrase: LEAD, THUS, VALUES, BOLD_LEAD
place: answer, BOLD place STOP? END_BOLD, FENCE place STOP? END_FENCE, DOLLAR place STOP?
    END_DOLLAR, DOLLARS place STOP? DOLLARS
place: MATH place STOP? END_MATH, DISPLAY place STOP? END_DISPLAY, BEGIN place STOP? END,
    BOX place STOP? RBRACE, TAG place STOP? END_TAG
place: TICK place END_TICK, TEXT place RBRACE, JSON place RBRACE
place: OPEN_QUOTE place STOP? CLOSE_QUOTE, ANSWER_TABLE place END_TABLE
none: refusal, DASH NO_ANSWER, QUOTE NO_ANSWER QUOTE, LPAR NO_ANSWER RPAR, LBRACKET
    NO_ANSWER RBRACKET
refusal: NO_ANSWER COMMA*, NO_ANSWER COLON refusal, NO_ANSWER LPAR NO_ANSWER RPAR COMMA*
assignment: {BRACKETS.format("values")}, SET equations COMMA*, equation_list, literal_list
  , columns, table, rows, TRUE_SIGN
values: (equations, literals) COMMA*
equations: equation, equations separator equation, equations unmarked
literals: literal, literals separator literal
separator: AND, COMMA COMMA* AND?
equation: {MARKED_ITEM.format("plain_equation")}
plain_equation: name EQUALS value
unmarked: SYMBOL EQUALS value
literal: {MARKED_ITEM.format("plain_literal")}
plain_literal: positive, negative, LPAR plain_literal RPAR
positive: name
negative: NOT name, NOT LPAR name RPAR
equation_list: {LIST.format("equation")}
literal_list: {LIST.format("literal")}
assignment_in_quotes: QUOTE (quoted_equations, quoted_literals) STOP? QUOTE
quoted_equations: quoted_equation, quoted_equations separator quoted_equation
quoted_equation: SYMBOL EQUALS bits
quoted_literals: quoted_literal, quoted_literals separator quoted_literal
quoted_literal: quoted_positive, quoted_negative
quoted_positive: SYMBOL
quoted_negative: NOT SYMBOL
columns: LPAR column COMMA column (COMMA column)* RPAR EQUALS LPAR value (COMMA value)* RPAR
column: {MARKED_ITEM.format("plain_column")}
plain_column: name, LPAR plain_column RPAR
table: BAR cell (BAR cell)* BAR RULE BAR bits (BAR bits)* BAR
rows: TABLE RULE row row*
row: BAR cell BAR bits BAR
name: cell, QUOTE SYMBOL QUOTE
value: bits, QUOTE bit QUOTE
cell: {MARKED.format("SYMBOL")}
bits: {MARKED.format("bit")}, bit LPAR bit RPAR
bit: ONE, ZERO
trace: sign* PERIOD sign sign* END_PERIOD
sign: AND, OR, NOT, XOR, IMPLIES, IFF, TRUE, FALSE, LPAR, RPAR, SEMICOLON, SYMBOL
words: {BRACKETS.format("series")}, quoted, word_list
series: word, {SERIES.format("word")}, word SEPARATOR word (SEPARATOR word)*
quoted: QUOTE ({SERIES.format("WORD")}, WORD SEPARATOR WORD (SEPARATOR WORD)*) STOP? QUOTE
word_list: DASH word DASH word (DASH word)*, NUMBER word NUMBER word (NUMBER word)*
word: {MARKED.format("WORD")}, QUOTE WORD QUOTE
"""
ANSWER = {
    "propositional": "answer: none, assignment, assignment_in_quotes",
    "ltl": "answer: logic, QUOTE logic STOP? QUOTE\nlogic: none, NIL, trace",
}
SIGNS = {"AND": "&", "OR": "|", "NOT": "!", "XOR": "^", "IMPLIES": "->", "IFF": "<->"}
SIGNS |= {"TRUE": "1", "FALSE": "0"}
SIGNS |= {"LPAR": "(", "RPAR": ")", "SEMICOLON": ";", "PERIOD": "{", "END_PERIOD": "}"}
CLAIMS = {"SATISFIABLE", "SATISFIES", "VALUES", "UNSATISFIED"}
NO_ANSWER, ANY_ASSIGNMENT = ("none", ()), ("assignment", ())


def token_value(task_name, token, text):
    """What a token adds to the value of its rule: a tuple with one item, or an empty one."""
    if token == "SYMBOL":
        text = re.sub(r"_\{(\w+)\}", r"_\1", text).replace("\\_", "_")
        return (re.sub("[₀-₉]", lambda digit: str(ord(digit[0]) - ord("₀")), text),)
    if token in ("WORD", "NUMBER"):
        return (text,) if token == "WORD" else (int(re.search(r"\d+", text)[0]),)
    if token in CLAIMS or token == "NIL":
        return (token,) if token in CLAIMS else (NO_ANSWER,)
    if task_name == "ltl":
        return (SIGNS[token],) if token in SIGNS else ()
    return (token == "ONE",) if token in ("ONE", "ZERO") else ()


def infix(signs):
    """Whether the signs are a trace in infix notation.

    Operands and operators take turns, and each formula closes its parentheses.
    """
    text = "".join(
        "x" if re.fullmatch(r"\w+", sign) else "&" if sign in ("|", "^", "->", "<->") else sign
        for sign in signs
    )
    formula = r"[!(]*x\)*(?:&[!(]*x\)*)*"
    depths = [
        [0, *accumulate((sign == "(") - (sign == ")") for sign in part)]
        for part in re.split("[;{}]", text)
    ]
    balanced = all(min(depth) == depth[-1] == 0 for depth in depths)
    return balanced and re.fullmatch(rf"(?:{formula};)*\{{{formula}(?:;{formula})*\}}", text)


def rule_value(rule, value):
    """The value of a rule, given its parts' values in a tuple; None if it does not allow them."""
    if rule in ("plain_equation", "quoted_equation", "unmarked", "row"):
        return (value,)
    if rule.endswith(("positive", "negative")):
        return ((value[0], rule.endswith("positive")),)
    if rule in ("columns", "table"):
        names = [item for item in value if isinstance(item, str)]
        values = [item for item in value if isinstance(item, bool)]
        return tuple(zip(names, values, strict=True)) if len(names) == len(values) else None
    if rule == "bits":
        return value[:1] if len(set(value)) == 1 else None
    if rule in ("equation_list", "literal_list", "word_list"):
        numbers = [item for item in value if isinstance(item, int)]
        items = tuple(item for item in value if not isinstance(item, int))
        if numbers not in ([], list(range(1, len(items) + 1))):
            return None
        return None if rule == "literal_list" and len(items) == 1 else items
    if rule == "trace" and not infix(value):
        return None
    if rule == "none":
        return (NO_ANSWER,)
    if rule == "assignment_in_quotes":
        return (("assignment", value),)
    return ((rule, value),) if rule in ("assignment", "trace", "words") else value


@cache
def grammar(task_name):
    """All sequences of symbols in a list, each with None at its end; and the rule of each place."""
    symbols, rules, repeated = [], [], {}

    def add(rule, sequences):
        for sequence in sequences:
            symbols.extend([*sequence, None])
            rules.extend([rule] * (len(sequence) + 1))

    def flat(tree):
        """The sequences that the tree stands for. What is repeated becomes a rule."""
        kind, inner = tree
        if kind in ("name", "?"):
            return [(inner,)] if kind == "name" else [(), *flat(inner)]
        if kind == "one":
            return [sequence for part in inner for sequence in flat(part)]
        if kind == "all":
            return [tuple(chain(*sequences)) for sequences in product(*map(flat, inner))]
        if (key := str(inner)) not in repeated:
            repeated[key] = f"repeated {len(repeated)}"
            add(
                repeated[key],
                [start + sequence for sequence in flat(inner) for start in ((), (repeated[key],))],
            )
        return [(), (repeated[key],)]

    for line in [
        *re.sub(r"\n +", " ", RULES).strip().splitlines(),
        *ANSWER.get(task_name, "answer: words").splitlines(),
    ]:
        rule, _, right = line.partition(": ")
        add(rule, flat(notation(right)))
    return symbols, rules


@cache
def opening(task_name, wanted):
    """How the wanted symbols can begin: the places in the grammar before each first symbol."""
    symbols, rules = grammar(task_name)
    firsts = [dot for dot in range(len(rules)) if dot == 0 or symbols[dot - 1] is None]
    while not wanted.issuperset(more := {symbols[dot] for dot in firsts if rules[dot] in wanted}):
        wanted = wanted | more
    found = defaultdict(list)
    for dot in firsts:
        if rules[dot] in wanted:
            found[symbols[dot]].append(dot)
    return found


def derivations(task_name, start, text):
    """The values of all derivations.

    An item is a place in the grammar, where its rule began in the text, and its value so far.
    """
    symbols, rules = grammar(task_name)
    arriving, waiting, opened, found = defaultdict(set), {}, {}, set()
    for place in range(len(text) + 1):
        if place and not arriving[place]:
            continue
        here, seen, todo = defaultdict(list), set(arriving[place]), list(arriving[place])
        while todo:
            item = dot, origin, value = todo.pop()
            if symbols[dot] is not None:
                here[symbols[dot]].append(item)
            elif (value := rule_value(rules[dot], value)) is not None:
                if rules[dot] == start and place == len(text):
                    found.add(value)
                new = {
                    (dot + 1, before, done + value)
                    for dot, before, done in waiting[origin].get(rules[dot], ())
                }
                new |= {(other + 1, origin, value) for other in opened[origin].get(rules[dot], ())}
                todo += new - seen
                seen |= new
        waiting[place], opened[place] = (
            here,
            opening(task_name, frozenset(here if place else [start])),
        )
        best = 0
        tokens = TOKENS.keys() & {*here, *opened[place], *(["BLANK"] if place else [])}
        for token in sorted(tokens, key=NUMBER.get, reverse=True):
            if NUMBER[token] < best:
                break
            end = longest(token, text, place)
            if end > place:
                best, value = NUMBER[token], token_value(task_name, token, text[place:end])
                arriving[end] |= {
                    (dot + 1, before, done + value) for dot, before, done in here.get(token, ())
                }
                arriving[end] |= {(dot + 1, place, value) for dot in opened[place].get(token, ())}
                arriving[end] |= arriving[place] if token == "BLANK" and end < len(text) else set()
    return found


def answer_of(task, kind, value):
    """The answer that the value of a place means to the task."""
    if kind == "words":
        return task.read_answer(" ".join(value))  # in copying, an error for `A` and `1`
    if kind == "assignment":
        return task.read_answer(", ".join(f"{name}={true:d}" for name, true in value) or "1")
    return task.read_answer("unsat" if kind == "none" else " ".join(value))


def meaning(task_name, start, text):
    """The one answer that the text means, or None."""
    task, answers = load_task(task_name), []
    for parts in derivations(task_name, start, text):
        claims, places = CLAIMS.intersection(parts), set(parts) - CLAIMS
        try:
            found = [answer_of(task, *place) for place in places]
        except LogicgenError:
            continue
        wrong = CLAIMS - {"UNSATISFIED"} if NO_ANSWER in places else {"UNSATISFIED"}
        if ANY_ASSIGNMENT in places:
            wrong |= {"VALUES"}
        if not claims & wrong and all(task.same(found[0], other) for other in found):
            answers += [] if any(task.same(found[0], other) for other in answers) else [found[0]]
    return answers[0] if len(answers) == 1 else None


# Sections 1 and 2

THINKING_ENDS = (
    "</think>",
    "</thinking>",
    "</reasoning>",
    "◁/think▷",
    "<|channel|>final<|message|>",
)
THINKING_STARTS = ("<think>", "<thinking>", "<reasoning>", "◁think▷", "<|channel|>")
OTHER_MARK = re.compile(
    r"</?(?:answer|final_answer|solution)|\[/?answer\]|<\|begin_of_box|\\boxed|\\fbox|```|~~~", re.I
)
ANSWER_IS = re.compile(r"(?<![^\W_])answers?(?:\W{0,4}(?<!\w)(?:is|are)(?!\w)|[ \t*_]{0,4}:)", re.I)
LEADS_TO_TAG = re.compile(r"[\s*_$`:]*")


def other_marks(before, after):
    if OTHER_MARK.search(before) or OTHER_MARK.search(after) or ANSWER_IS.search(after):
        return True
    return not all(
        LEADS_TO_TAG.fullmatch(before, found.end()) for found in ANSWER_IS.finditer(before)
    )


def read(task_name, completion, mode):
    """The answer, or None if the completion is invalid."""
    ends_at = [completion.rfind(mark) + len(mark) for mark in THINKING_ENDS if mark in completion]
    text = completion[max(ends_at, default=0) :]
    if len(completion) > 1_048_576 or any(mark in text for mark in THINKING_STARTS):
        return None
    parts = re.split("(</?answer>)", text)
    tags = parts[1::2] == ["<answer>", "</answer>"]
    if mode == "tolerant" and (not tags or other_marks(parts[0], parts[-1])):
        text = text.strip()
        return meaning(task_name, "tolerant", text) if len(text) <= 20_000 else None
    if not tags or len(text := parts[2].strip()) > 20_000:
        return None
    try:
        empty = (task_name, text) == ("propositional", "{}")
        return load_task(task_name).read_answer("" if empty else text)
    except LogicgenError:
        return meaning(task_name, "strict", text)
