#!/usr/bin/env bash
# The full-size recipes on one GPU, in pieces of under ten minutes.
#
#     benchmarks/gpu.sh FOLDER [MODEL ...]
#
# Each call does one piece of what is left to do in FOLDER, and says with status 3 that there is
# more: data, then eight minutes of training in bf16 (resumed by the next call), then an evaluation,
# then measurements. With nothing left it prints, of each model, examples a second, the share of the
# card's peak, what torch.compile makes of a step, and accuracy. On a CPU, with tiny sizes:
#
#     DEVICE=cpu SIZE=2000 STEPS=20 BATCH=16 LIMIT=50 benchmarks/gpu.sh FOLDER ltl-learned-published
set -euo pipefail
mkdir -p "$1"
folder=$(cd "$1" && pwd) && shift
cd "$(dirname "$0")/.."
device=${DEVICE:-cuda} minutes=${MINUTES:-8} limit=${LIMIT:-2000}
python=${PYTHON:-.venv/bin/python}
[ -x "$python" ] || python=python3
logicgen() { "$python" -m logicgen.cli.main "$@"; }
models=("$@")
if [ ${#models[@]} = 0 ]; then
  models=(ltl-{learned,interchangeable,symbol-invariant}-published propositional-interchangeable-published)
fi
declare -A data=([ltl]=ltl-35 [propositional]=propositional-35 [copying]=copying-20)
for model in "${models[@]}"; do
  recipe=${data[${model%%-*}]}
  if [ ! -e "$folder/$recipe/done" ]; then
    # Whoever runs into the limit of a call goes on with the next one.
    logicgen generate "$recipe" -o "$folder/$recipe/data" ${SIZE:+--size "$SIZE"}
    touch "$folder/$recipe/done"
    exit 3
  fi
  if [ ! -e "$folder/$model/trained" ]; then
    "$python" benchmarks/gpu.py recipe "$model" "$folder/$model.toml" \
      ${STEPS:+--steps "$STEPS"} ${BATCH:+--batch-size "$BATCH"}
    logicgen train "$folder/$model.toml" --data "$folder/$recipe/data" -o "$folder/$model/run" \
      --device "$device" --max-minutes "$minutes" --resume
    left=$("$python" benchmarks/gpu.py left "$folder/$model/run")
    [ "$left" = 1 ] || touch "$folder/$model/trained"
    exit 3
  fi
  if [ ! -e "$folder/$model/test/summary.json" ]; then
    logicgen evaluate "$folder/$model/run" --data "$folder/$recipe/data" --split test \
      --limit "$limit" --device "$device" -o "$folder/$model/test"
    exit 3
  fi
  if [ ! -e "$folder/$model/report.txt" ]; then
    "$python" benchmarks/gpu.py report "$folder/$model" --data "$folder/$recipe/data" \
      --device "$device" >"$folder/$model/report.part"
    mv "$folder/$model/report.part" "$folder/$model/report.txt"
    exit 3
  fi
done
for model in "${models[@]}"; do
  cat "$folder/$model/report.txt"
done
