#!/usr/bin/env bash
# Sets up what kvdyno needs on Debian or Ubuntu, each step once: `setup.sh packages` installs system
# packages, `setup.sh venv` makes the Python environment, `setup.sh docker` sees to it that a Docker
# Engine answers, `setup.sh versions` installs what building versions of engines needs,
# `setup.sh aarch64` what cross-compiling needs, `setup.sh browser` what tests of the report's page need,
# `setup.sh slurm` what tests of sweeps over many hosts need, `setup.sh latex` what papers need, `setup.sh otava` what finds change points of a history. A stamp that holds the step's inputs marks it as done. Without root it
# names the missing packages and goes on with what it can.
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

missing_of() {  # missing_of PACKAGE...: those that are not installed
  local package
  for package; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || echo "$package"
  done
}

as_root() {  # as_root COMMAND...: fails at once where this user cannot
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}

ask_for() {  # ask_for PACKAGE...: names what this user cannot install
  say "without root these packages cannot be installed; ask for:"
  printf '     apt-get install %s\n' "$*"
}

install() {  # install PACKAGE...
  say "installing system packages: $*"
  as_root apt-get update -qq
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

packages() {
  if ! command -v dpkg-query >/dev/null; then
    say "this is not Debian or Ubuntu; install the equivalents of: $(wanted_packages | tr '\n' ' ')"
    return
  fi
  local missing
  # shellcheck disable=SC2046 # a list of words
  mapfile -t missing < <(missing_of $(wanted_packages))
  if [ "${#missing[@]}" = 0 ]; then return; fi
  if as_root true 2>/dev/null; then
    install "${missing[@]}"
  else
    ask_for "${missing[@]}"
    say "going on with what is here"
  fi
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

otava() {  # an environment of its own: what it pins is not what kvdyno does
  local inputs
  inputs=$(sha256sum <harness/otava.lock)
  if done_with otava "$inputs" && [ -x .kvdyno/otava/bin/otava ]; then return; fi
  say "making an environment for apache-otava in .kvdyno/otava"
  rm -rf .kvdyno/otava
  "$(find_python)" -m venv .kvdyno/otava
  .kvdyno/otava/bin/python -m pip install -q --disable-pip-version-check --no-deps --require-hashes -r harness/otava.lock
  mark otava "$inputs"
}

why_no_engine() {  # why no Docker Engine answers; nothing if one does
  { .venv/bin/python -c 'from kvdyno.host.docker_engine import connect; connect()' 2>&1 || true; } |
    sed -n 's/^kvdyno.errors.[A-Za-z]*: //p'
}

docker() {
  venv
  local why missing
  why=$(why_no_engine)
  if [ -z "$why" ]; then return; fi
  if [[ $why != *"no Docker Engine answers"* || -n ${DOCKER_HOST:-} ]]; then
    give_up "$why"
  fi
  mapfile -t missing < <(missing_of docker.io debootstrap)
  if ! command -v dockerd >/dev/null; then
    as_root true 2>/dev/null || { ask_for "${missing[@]}"; exit 1; }
    install "${missing[@]}"
  fi
  start_engine
}

start_engine() {
  local log=$PWD/.kvdyno/dockerd.log why
  mkdir -p .kvdyno
  as_root true 2>/dev/null || give_up "the Docker Engine is not running, and only root can start it"
  if [ -d /run/systemd/system ]; then
    say "starting the Docker Engine as a service"
    as_root systemctl start docker >"$log" 2>&1 || true
  else
    say "starting the Docker Engine in the background; its log is $log"
    as_root setsid dockerd --pidfile "$PWD/.kvdyno/dockerd.pid" >"$log" 2>&1 </dev/null &
  fi
  for _ in $(seq 60); do
    why=$(why_no_engine)
    if [ -z "$why" ]; then return; fi
    if [[ $why != *"no Docker Engine answers"* ]] || ! { [ -d /run/systemd/system ] || kill -0 $! 2>/dev/null; }; then
      break
    fi
    sleep 0.5
  done
  give_up "$why; its output: $(tail -n 1 "$log")"
}

give_up() {  # give_up REASON
  say "no Docker Engine: $1" >&2
  exit 1
}

need() {  # need PACKAGE...: installs those that are missing, or asks for them
  local missing
  mapfile -t missing < <(missing_of "$@")
  if [ "${#missing[@]}" = 0 ]; then return; fi
  if as_root true 2>/dev/null; then install "${missing[@]}"; else ask_for "${missing[@]}"; fi
}

versions() {  # versions [ARGUMENT...]: what `kvdyno engines build ARGUMENT...` needs
  # shellcheck disable=SC2046 # a list of words
  need $(.venv/bin/kvdyno engines packages "$@" | with_new_cargo)
}

aarch64() {  # a cross compiler, and what runs its programs here
  need g++-aarch64-linux-gnu qemu-user-static
}

latex() {  # what makes a paper's PDF, and what looks at it
  need latexmk poppler-utils texlive-fonts-recommended texlive-latex-recommended
  if ! command -v latexmk >/dev/null; then say "no LaTeX: kvdyno paper makes no PDF" >&2; exit 1; fi
}

slurm() {  # a controller and hosts, which tests start and stop on this machine
  need slurmctld slurmd slurm-client munge
  if ! [ -x /usr/sbin/slurmctld ]; then say "no Slurm: its tests are skipped" >&2; exit 1; fi
}

axe_version=4.14.1
axe_sha256=e6b0ce02b84d892e2e33e403485e7f3d6c29e2be6df65daf44d89ba564139745

browser() {  # Chromium and axe-core; playwright is part of the Python environment
  need chromium
  if ! command -v chromium >/dev/null; then say "no Chromium: the browser tests are skipped" >&2; exit 1; fi
  axe || { say "no axe-core: its test is skipped" >&2; exit 1; }
}

axe() {
  local folder=.kvdyno/axe archive=axe-core-$axe_version.tgz
  if done_with axe "$axe_sha256"; then return; fi
  command -v npm >/dev/null || need npm
  rm -rf "$folder" && mkdir -p "$folder"
  say "fetching axe-core $axe_version"
  (cd "$folder" && npm pack --silent "axe-core@$axe_version" >/dev/null && echo "$axe_sha256  $archive" | sha256sum -c --quiet &&
    tar xzf "$archive" package/axe.min.js package/LICENSE && rm "$archive") || return 1
  mark axe "$axe_sha256"
}

with_new_cargo() {  # Debian 12's package cargo is too old for its own registry; cargo-web is kept up to date
  if apt-cache show cargo-web >/dev/null 2>&1; then sed 's/^cargo$/cargo-web/'; else cat; fi
}

case "${1:-}" in
  packages | venv | docker | aarch64 | browser | latex | otava | slurm) "$1" ;;
  versions) shift; versions "$@" ;;
  *) echo "usage: setup.sh packages|venv|docker|aarch64|browser|latex|otava|slurm|versions" >&2; exit 2 ;;
esac
