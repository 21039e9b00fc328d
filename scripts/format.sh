#!/usr/bin/env bash
# clang-format over every C++ file under version control; --check only tells.
set -euo pipefail
cd "$(dirname "$0")/.."
tool=$(command -v clang-format-19 || command -v clang-format || true)
[ -n "$tool" ] || { echo "format: clang-format 19 is needed; run: make setup-test" >&2; exit 1; }
"$tool" --version | grep -q 'version 19\.' || { echo "format: clang-format 19 is needed, found $("$tool" --version)" >&2; exit 1; }
mode=(-i)
[ "${1:-}" != --check ] || mode=(--dry-run -Werror)
git ls-files -z --cached --others --exclude-standard '*.cpp' '*.h' '*.cu' '*.inc' | xargs -0 -r "$tool" "${mode[@]}"
