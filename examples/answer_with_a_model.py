"""Answer a formula with a shipped model, and return only an answer that the solver accepts.

The model first gives its most probable answer. If the solver rejects it, the model draws different
answers at random. `logicgen solve --model` does the same for any names of symbols and for files.
"""

from dataclasses import replace

import logicgen
from logicgen.model.model import Request
from logicgen.nn.samples import Sampling

PROBLEM = "& U a b & X ! b U 1 c"  # (a U b) & X!b & F c, as the model reads it
DRAWS = 16

model = logicgen.load_model("ltl", device="cpu")
asked = [model.vocabulary.encode(PROBLEM)]
request = Request(asked, symbols=3, embedding_seed=0, max_length=24)
[likeliest] = model.predict(request)
sampling = Sampling(temperature=1.0, answers=DRAWS - 1)
[others] = model.predict(replace(request, decoding=sampling))
for draw, answer in enumerate([*likeliest, *others], 1):
    text = model.vocabulary.decode(answer.ids)
    verdict = logicgen.verify("ltl", PROBLEM, text)
    print(f"draw {draw}: {text} is {verdict}")
    if verdict.is_right:
        break

# Prints:
# draw 1: & b c ; { ! b } is correct
