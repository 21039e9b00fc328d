#!/usr/bin/env bash
# Builds the fuzz targets and runs each for $1 seconds (60), from the corpus that earlier runs left in build/fuzz/corpus.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-60}
test -f build/fuzz/build.ninja || cmake --preset fuzz
targets=$(ninja -C build/fuzz -t targets all | sed -n 's/^bin\/\(fuzz_[a-z_]*\):.*/\1/p' | sort -u)
# shellcheck disable=SC2086
cmake --build build/fuzz --target $targets
for target in $targets; do
  mkdir -p "build/fuzz/corpus/$target"
  echo "fuzz: $target for $seconds s"
  (cd build/fuzz && "bin/$target" -max_total_time="$seconds" -timeout=5 -rss_limit_mb=1024 -print_final_stats=1 "corpus/$target")
done
