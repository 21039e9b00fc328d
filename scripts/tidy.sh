#!/usr/bin/env bash
# clang-tidy over the C++ sources that build/compile_commands.json names: all, or those that differ from the commit or branch $1.
set -euo pipefail
cd "$(dirname "$0")/.."
tool=$(command -v clang-tidy-19) || { echo "tidy: clang-tidy 19 is needed; run: make setup-test" >&2; exit 1; }
if [ $# -gt 0 ]; then
  files=$(git diff --name-only --diff-filter=d "$1" -- 'src/*.cpp')
else
  files=$(git ls-files 'src/*.cpp')
fi
[ -n "$files" ] || { echo "tidy: nothing to check"; exit 0; }
# shellcheck disable=SC2016
echo "$files" | xargs -P "$(nproc)" -I{} sh -c '
  grep -q "$PWD/{}" build/compile_commands.json || exit 0
  "$0" --quiet -p build "{}" 2>/dev/null || { echo "tidy: {}" >&2; exit 255; }' "$tool"
