"""Solve formulas, and verify answers to them.

`solve` returns a status and, for a satisfiable formula, a witness: an assignment or a trace that
makes the formula true. `verify` returns a verdict. An assignment that contradicts itself is
`invalid`.
"""

import logicgen
from logicgen.tasks import load_task

for task, problem in [
    ("propositional", "a & !b | c"),
    ("propositional", "a & !a"),
    ("ltl", "G(request -> F grant) & GF request"),
]:
    solution = logicgen.solve(task, problem)
    print(problem, "is", solution.status)
    if solution.witness is not None:
        print("  ", load_task(task).show(solution.witness))

print(logicgen.verify("propositional", "a | b", "b=1"))
print(logicgen.verify("propositional", "a | b", "a=0"))
print(logicgen.verify("propositional", "a | b", "a=1, a=0"))

# Prints:
# a & !b | c is sat
#    c=1
# a & !a is unsat
# G(request -> F grant) & GF request is sat
#    {request & grant}
# correct
# incorrect
# invalid
