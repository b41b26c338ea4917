#!/bin/sh
# Do the folders that saveModel writes compute the same in transformers? Run after `npm run build`, from anywhere.
# PYTHON is an interpreter with parity/requirements.txt. One JSON line a model; exit 1 if one of them differs.
set -eu
cd -- "$(dirname -- "$0")/.."
python=${PYTHON:-python3}
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

node parity/save_models.mjs "$out"
status=0
for dir in "$out"/*/; do
  printf '%s ' "$(basename "$dir")"
  "$python" parity/check_saved_model.py "$dir" || status=1
done
exit $status
