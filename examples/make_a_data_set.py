"""Make a small data set from a shipped recipe, and read it with logicgen, pyarrow and pandas.

The bytes depend on the recipe and the seed alone, so the rows are the same on every machine.
"""

import pandas
import pyarrow.dataset

import logicgen

FOLDER = "data/propositional-200"

logicgen.generate("propositional-mini", FOLDER, size=200, seed=0, workers=2)

data = logicgen.load_dataset(FOLDER)  # checks checksums
print(data.splits)
print(pyarrow.dataset.dataset(f"{FOLDER}/train").count_rows(), "rows to train on")
train = pandas.read_parquet(f"{FOLDER}/train")
print(train[["problem", "answer", "symbols", "length"]].tail(3).to_string(index=False))

# Prints:
# {'train': 198, 'validation': 1, 'test': 1, 'grid': 82}
# 198 rows to train on
#           problem      answer  symbols  length
# & & ! a b | ! c b     a 0 b 1        3       9
#   ! ! | ! & a c b         b 1        3       8
#         & d & b a d 1 b 1 a 1        3       5
