"""Families of LTL formulas that are hard for one method or another."""

from __future__ import annotations


def counter(bits):
    """A binary counter that starts at zero: the shortest period has 2 ** bits positions."""
    parts = [" & ".join(f"!b{i}" for i in range(bits))]
    for i in range(bits):
        carry = " & ".join(f"b{j}" for j in range(i)) or "true"
        parts.append(f"G(Xb{i} <-> (b{i} xor ({carry})))")
    return " & ".join(parts)


def arbiter(clients):
    """Every request is granted some time, never two at once, and requests never end."""
    exclusive = [f"G(!g{i} | !g{j})" for i in range(clients) for j in range(i)]
    served = [f"G(r{i} -> Fg{i}) & GFr{i}" for i in range(clients)]
    return " & ".join(exclusive + served)


def nested(operator, depth):
    text = "a0"
    for i in range(1, depth + 1):
        text = f"({text} {operator} a{i})" if i % 2 else f"(a{i} {operator} {text})"
    return text
