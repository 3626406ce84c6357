"""Remove a rule from a grammar of productions, and see which sentences disappear.

Unit `big` writes "big" and then chooses `cat` or `dog`. Without the connection from `big` to `dog`,
"big dog" disappears, and the other sentences keep their proportions.
"""

from pathlib import Path

from logicgen.productions import Grammar, cut, read_grammar

Path("grammar.toml").write_text("""
start = { big = 0.75, small = 0.25 }

[[layer]]
big = { tokens = { big = 1.0 }, below = { cat = 0.5, dog = 0.5 } }
small = { tokens = { small = 1.0 }, below = { dog = 1.0 } }

[[layer]]
cat = { tokens = { cat = 1.0 } }
dog = { tokens = { dog = 1.0 } }
""")


def show(grammar: Grammar) -> None:
    """Print every sentence with its probability."""
    for sentence, probability in zip(*grammar.sentences(), strict=True):
        print(f"  {grammar.decode(sentence):10} {probability:.3f}")


grammar = read_grammar("grammar.toml")
print("before")
show(grammar)
print("without big -> dog")
show(cut(grammar, "big", "dog"))

# Prints:
# before
#   big cat    0.375
#   big dog    0.375
#   small dog  0.250
# without big -> dog
#   big cat    0.600
#   small dog  0.400
