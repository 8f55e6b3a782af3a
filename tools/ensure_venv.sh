#!/bin/sh
# Create a virtual environment from a Python 3.11 or newer that can build extensions.
# Usage: ensure_venv.sh DIRECTORY; PYTHON=... chooses the interpreter.
set -u
here=$(dirname "$0")
venv=$1

# Usable: Python 3.11 or newer, with ensurepip and the C headers.
usable() {
  "$1" -c '
import ensurepip, os, sys, sysconfig
header = os.path.join(sysconfig.get_path("include"), "Python.h")
sys.exit(not (sys.version_info >= (3, 11) and os.path.exists(header)))' >/dev/null 2>&1
}

find_python() {
  for python in ${PYTHON:-python3 python3.13 python3.12 python3.11 python3.14 python}; do
    usable "$python" && return 0
  done
  return 1
}

if ! find_python; then
  [ -z "${PYTHON:-}" ] && sh "$here/apt_install.sh" python3-venv python3-dev
  if ! find_python; then
    echo "Python 3.11 or newer with venv and C headers is missing:" \
      "install python3-venv and python3-dev, or set PYTHON." >&2
    exit 1
  fi
fi
if ! command -v "${CXX:-c++}" >/dev/null 2>&1; then
  sh "$here/apt_install.sh" g++
  if ! command -v "${CXX:-c++}" >/dev/null 2>&1; then
    echo "A C++20 compiler is missing: install g++ 12 or newer, or set CXX." >&2
    exit 1
  fi
fi
rm -rf "$venv"
"$python" -m venv "$venv"
