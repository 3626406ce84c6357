"""Score many answers with the solver: JSON lines in, JSON lines with a verdict out.

`logicgen verify --task propositional --in FILE` does the same on the command line. The solver runs
in worker processes, which are killed at the time limit. The verdict is then `unknown`. If a problem
does not parse, the verdict is `error`.
"""

import json
from collections import Counter

from logicgen.processes.pool import Limits
from logicgen.tasks.lines import verify_lines

ANSWERS = {
    "a & !b": "a=1, b=0",
    "a -> b": "a=1",
    "a <-> !b": "a & !b",
    "a ^ b": "a=1, a=0",
    "a | (b": "a=1",
}


lines = [json.dumps({"problem": p, "answer": a}) for p, a in ANSWERS.items()]
rows = list(verify_lines("propositional", lines, None, workers=1, limits=Limits(10.0)))
for row in rows:
    print(f"{row['problem']:10} {row['answer']:10} {row['verdict']}")
print(dict(Counter(row["verdict"] for row in rows)))

# Prints:
# a & !b     a=1, b=0   correct
# a -> b     a=1        incorrect
# a <-> !b   a & !b     correct
# a ^ b      a=1, a=0   invalid
# a | (b     a=1        error
# {'correct': 2, 'incorrect': 1, 'invalid': 1, 'error': 1}
