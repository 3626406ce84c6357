"""LTL on lassos straight from the definition, for tests: slow, and like nothing in logicgen."""

from __future__ import annotations

from itertools import product

BOOLEAN = {
    "!": lambda a: not a,
    "&": lambda a, b: a and b,
    "|": lambda a, b: a or b,
    "^": lambda a, b: a != b,
    "->": lambda a, b: not a or b,
    "<->": lambda a, b: a == b,
}


def holds(formula, letters, loop):
    """Return whether the word `letters`, going on from `loop` after its end, satisfies the formula.

    `letters` are sets of true symbols.
    """
    count = len(letters)
    # From position i a lasso repeats after at most `count` steps.
    suffixes = []
    for i in range(count):
        suffix = [i]
        while len(suffix) <= 2 * count:
            suffix.append(suffix[-1] + 1 if suffix[-1] + 1 < count else loop)
        suffixes.append(suffix)

    def until(a, b, i):
        for j in suffixes[i]:
            if b[j]:
                return True
            if not a[j]:
                return False
        return False

    def at_every_position(node, operands):
        token = node.token
        if node.is_symbol:
            return [token in letter for letter in letters]
        if not operands:
            return [token == "1"] * count
        if token in BOOLEAN:
            return [BOOLEAN[token](*values) for values in zip(*operands, strict=True)]
        a, b = operands[0], operands[-1]
        always = [all(a[j] for j in suffixes[i]) for i in range(count)]
        always_b = [all(b[j] for j in suffixes[i]) for i in range(count)]
        match token:
            case "X":
                return [a[suffixes[i][1]] for i in range(count)]
            case "F":
                return [any(a[j] for j in suffixes[i]) for i in range(count)]
            case "G":
                return always
            case "U":
                return [until(a, b, i) for i in range(count)]
            case "W":
                return [until(a, b, i) or always[i] for i in range(count)]
            case "M":
                both = [x and y for x, y in zip(a, b, strict=True)]
                return [until(b, both, i) for i in range(count)]
            case "R":
                both = [x and y for x, y in zip(a, b, strict=True)]
                return [until(b, both, i) or always_b[i] for i in range(count)]
        raise AssertionError(token)

    return formula.fold(at_every_position)[0]


def all_lassos(symbols, most):
    """Every lasso of at most `most` positions as letters and loop: fewer positions first."""
    sets = [
        frozenset(name for name, value in zip(symbols, values, strict=True) if value)
        for values in product((True, False), repeat=len(symbols))
    ]
    for count in range(1, most + 1):
        for loop in range(count - 1, -1, -1):
            for letters in product(sets, repeat=count):
                yield letters, loop


def allows(position, letter):
    """Return whether a letter satisfies a propositional formula; symbols not in it are false."""
    return holds(position, [letter], 0)
