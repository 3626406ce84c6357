"""Solve formulas with unknown operators, from solved problems with the same operator names.

The program that does this knows no token. It tries every meaning of the tokens that agrees with the
solved problems. `logicgen train propositional-lexinvariant-names-shots --data data/operators` makes
a language model for this task. `logicgen evaluate RUN --data data/operators --shots 4` scores the
model, and with `control:meanings` as RUN the program.
"""

import logicgen
from logicgen.data.solved import SolvedProblems
from logicgen.tasks import load_task
from logicgen.tasks.controls import load_control

data = logicgen.generate("propositional-operators", "data/operators", size=1000)
task = load_task("propositional")
meanings, all_true = (load_control(task, name) for name in ("meanings", "all-true"))
problems = [row["problem"] for row in data.table("test").to_pylist()]


def right(problem, answers):
    """Return whether the solver accepts the first answer."""
    return bool(answers) and logicgen.verify("propositional", problem, answers[0]).is_right


for shots in (0, 1, 4):
    solved = SolvedProblems(data, shots)
    found = 0
    for problem in problems:
        before = solved.before(data.vocabulary.encode(problem), seed=0)
        shown = [tuple(map(data.vocabulary.decode, pair)) for pair in before]
        found += right(problem, meanings.answers(problem, 1, shown))
    print(f"{shots} shown: {found} of {len(problems)} right")
guessed = sum(right(problem, all_true.answers(problem, 1)) for problem in problems)
print(f"every symbol is true: {guessed} of {len(problems)} right")

# Prints:
# 0 shown: 32 of 46 right
# 1 shown: 44 of 46 right
# 4 shown: 46 of 46 right
# every symbol is true: 28 of 46 right
