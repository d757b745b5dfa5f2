#!/usr/bin/env bash
# Sets up what kvdyno needs on Debian or Ubuntu, each step once: `setup.sh packages` installs system
# packages, `setup.sh venv` makes the Python environment. A stamp that holds the step's inputs says
# that it is done. Without root it names the missing packages and goes on with what it can.
set -euo pipefail
cd "$(dirname "$0")/.."
stamps=.kvdyno/setup

say() { printf '== %s\n' "$*"; }

done_with() {  # done_with STEP INPUTS: the step has run for exactly these inputs
  [ "$(cat "$stamps/$1" 2>/dev/null)" = "$2" ]
}

mark() { mkdir -p "$stamps" && printf '%s' "$2" >"$stamps/$1"; }

wanted_packages() {
  sed -e 's/#.*//' harness/packages.txt engines/packages.txt engines/adapters/*/packages.txt | tr -s ' \t\n' '\n' |
    sed '/^$/d' | sort -u
}

missing_packages() {
  for package in $(wanted_packages); do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || echo "$package"
  done
}

packages() {
  if ! command -v dpkg-query >/dev/null; then
    say "this is not Debian or Ubuntu; install the equivalents of: $(wanted_packages | tr '\n' ' ')"
    return
  fi
  local missing as_root=
  missing=$(missing_packages | tr '\n' ' ')
  [ -n "$missing" ] || return 0
  if [ "$(id -u)" != 0 ]; then
    if sudo -n true 2>/dev/null; then
      as_root="sudo -n"
    else
      say "without root these packages cannot be installed; ask for:"
      printf '     apt-get install %s\n' "$missing"
      say "going on with what is here"
      return 0
    fi
  fi
  say "installing system packages: $missing"
  export DEBIAN_FRONTEND=noninteractive
  $as_root apt-get update -qq
  # shellcheck disable=SC2086 # a list of words
  $as_root apt-get install -y -qq --no-install-recommends $missing >/dev/null
}

find_python() {
  local candidate
  for candidate in "${PYTHON:-}" python3.13 python3.12 python3.11 python3; do
    if [ -n "$candidate" ] && "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      command -v "$candidate"
      return
    fi
  done
  say "Python 3.11 or newer is needed and was not found; remedy: apt-get install python3.11 python3.11-venv" >&2
  exit 1
}

venv() {
  local inputs
  inputs=$(cat harness/requirements.lock pyproject.toml | sha256sum)
  if done_with venv "$inputs" && [ -x .venv/bin/kvdyno ]; then return; fi
  say "making the Python environment in .venv"
  [ -x .venv/bin/python ] || "$(find_python)" -m venv .venv
  .venv/bin/python -m pip install -q --disable-pip-version-check --require-hashes -r harness/requirements.lock
  .venv/bin/python -m pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .
  mark venv "$inputs"
}

case "${1:-}" in
  packages | venv) "$1" ;;
  *) echo "usage: setup.sh packages|venv" >&2; exit 2 ;;
esac
