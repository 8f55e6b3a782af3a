#!/bin/sh
# Install Debian packages if the user is allowed to: as root, or with sudo without a password.
# Usage: apt_install.sh PACKAGE...; exits with 1, without output, if it is not allowed.
set -u
command -v apt-get >/dev/null 2>&1 || exit 1
if [ "$(id -u)" = 0 ]; then
  as_root=""
elif command -v sudo >/dev/null 2>&1 && sudo -n true >/dev/null 2>&1; then
  as_root="sudo -n"
else
  exit 1
fi
export DEBIAN_FRONTEND=noninteractive
$as_root apt-get -qq update >/dev/null 2>&1
$as_root apt-get -qq install --yes --no-install-recommends "$@" >/dev/null 2>&1
