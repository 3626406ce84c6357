"""Ask a language model for a trace, and judge its completions within a time limit."""

import logicgen

formula = "G(request -> X grant) & F request"
print(logicgen.prompt("ltl", formula).splitlines()[-1])

completions = [
    "Grant always.\n<answer>request ; {grant}</answer>",
    "<think>The answer is {request & grant}?</think><answer>{request}</answer>",
    "<answer>request ; {grant & !grant}</answer>",
    "The trace is request ; {grant}.",
]
with logicgen.Scorer("ltl", timeout=5.0) as scorer:
    for judgement in scorer.score_batch([formula] * 4, completions):
        print(judgement.reward, judgement.verdict, judgement.reason or "-")

# Prints:
# Formula: G(request -> X grant) & F request
# 1.0 correct -
# 0.0 incorrect it allows request ; !grant ; {1}, which falsifies G(request -> Xgrant)
# 0.0 invalid position 1 is contradictory: grant & !grant
# 0.0 invalid there is no <answer>...</answer>
