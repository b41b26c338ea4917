#!/usr/bin/env bash
# Tests and benchmark on a GPU, without a network: bench/gpu.sh [--folder DIR] [--device cuda|cpu] [--models A,B]
#   [--out DIR] [--no-tests] [-- flags of grpo bench: --prompts 16 --group 16 --prompt-len 256 --completion-len 256 ...]
#
# It needs a PyTorch that python3 (or PYTHON) imports, and a C++ compiler. What else the machine lacks lies in --folder:
#   node-v*-linux-*.tar.*    where there is no Node
#   node_modules.tar.*       where the clone has none: in a clone after ./setup,
#                            tar cJf node_modules.tar.xz --exclude node_modules/@biomejs node_modules
#   *.whl                    transformers and what it requires, where Python does not import it
# One table is printed at the end; --out keeps the numbers behind it. `--device cpu --models tiny` tries the whole way,
# --models '' runs the tests alone.
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)

folder='' device=cuda models=qwen2.5-0.5b,qwen2.5-1.5b out='' tests=yes
work=(--prompts 16 --group 16 --prompt-len 256 --completion-len 256 --micro 32 --steps 4)
usage() { sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"; }
while [[ $# -gt 0 ]]; do
  case $1 in
    --folder | --device | --models | --out)
      [[ $# -ge 2 ]] || { echo "$1 needs a value." >&2; exit 2; }
      declare "${1#--}=$2"
      shift 2
      ;;
    --no-tests) tests=no; shift ;;
    --) shift; work+=("$@"); break ;;
    --help | -h) usage; exit 0 ;;
    *) echo "Unknown option $1. bench/gpu.sh --help shows what it takes." >&2; exit 2 ;;
  esac
done
[[ -z $folder ]] || folder=$(cd -- "$folder" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf -- "$scratch"' EXIT
out=${out:-$scratch/out}
mkdir -p -- "$out"
out=$(cd -- "$out" && pwd)
cd -- "$root"

# The first file in --folder that fits a pattern.
given() {
  local file
  for file in ${folder:+"$folder"/$1}; do
    [[ -f $file ]] && { printf '%s\n' "$file"; return; }
  done
  return 1
}

if ! command -v node >/dev/null; then
  archive=$(given 'node-v*-linux-*.tar.*') || { echo 'There is no node, and no node-v*-linux-*.tar.* in --folder.' >&2; exit 1; }
  mkdir -- "$scratch/node"
  tar -xf "$archive" -C "$scratch/node" --strip-components 1
  export PATH="$scratch/node/bin:$PATH"
fi
if [[ ! -d node_modules ]]; then
  archive=$(given 'node_modules.tar.*' || given 'node_modules.tgz') ||
    { echo 'There is no node_modules here, and no node_modules.tar.* in --folder.' >&2; exit 1; }
  tar -xf "$archive"
fi

python=${PYTHON:-python3}
if [[ -z ${LIBTORCH:-} ]]; then
  LIBTORCH=$("$python" -c 'import os, torch; print(os.path.dirname(torch.__file__))' 2>/dev/null) ||
    { echo "$python imports no torch; PYTHON names another one." >&2; exit 1; }
fi
export LIBTORCH
./setup

if ! "$python" -c 'import transformers' 2>/dev/null; then
  given '*.whl' >/dev/null || { echo "$python imports no transformers, and there are no wheels in --folder." >&2; exit 1; }
  # What the machine's Python has stays as it is.
  "$python" -m venv --system-site-packages "$scratch/python"
  "$scratch/python/bin/python" -m pip install --quiet --no-index --find-links "$folder" transformers
  python=$scratch/python/bin/python
fi

status=0
if [[ $tests == yes ]]; then
  GRPO_DEVICE=$device node node_modules/vitest/vitest.mjs run \
    packages/torch/dist packages/grpo/dist/models packages/grpo/dist/objective packages/grpo/dist/audit/update \
    packages/grpo/dist/rollout/sampler packages/grpo/dist/rollout/static-step || status=$?
fi

for model in ${models//,/ }; do
  echo "$model: grpo bench" >&2
  node packages/grpo/bin/grpo.js bench --json --bf16 --device "$device" --model "$model" "${work[@]}" >"$out/ours-$model.json"
  echo "$model: generate and a plain step" >&2
  HF_HUB_OFFLINE=1 "$python" bench/gpu_peer.py --device "$device" --model "$model" "${work[@]}" >"$out/peer-$model.json"
done
[[ -z $models ]] || node bench/comparison/gpu-table.mjs "$out"
[[ $status == 0 ]] || echo "The tests failed; see above." >&2
exit "$status"
