"""Answer a formula with a shipped model, and return only what the solver accepts.

The first answer is the likeliest one; as long as the solver rejects them, others are drawn at
random. `logicgen solve --model` does the same, with any names of symbols and in bulk.
"""

import logicgen
from logicgen.nn.decoding import GREEDY, Sampling

PROBLEM = "& U a b & X ! b U 1 c"  # (a U b) & X!b & F c, as the model reads it
DRAWS = 16

model = logicgen.load_model("ltl", device="cpu")
ids = model.vocabulary.encode(PROBLEM)
for draw in range(DRAWS):
    decoding = Sampling(temperature=1.0, seed=draw) if draw else GREEDY
    [answer] = model.predict([ids], symbols=3, embedding_seed=0, max_length=24, decoding=decoding)
    text = model.vocabulary.decode(answer)
    verdict = logicgen.verify("ltl", PROBLEM, text)
    print(f"draw {draw + 1}: {text} is {verdict}")
    if verdict.is_right:
        break

# Prints:
# draw 1: & b c ; { ! b } is correct
