#!/bin/sh
# Make sure that Chromium is installed for the tests of pages: find it, install it with apt, or print
# advice.
set -u
here=$(dirname "$0")

found() {
  command -v chromium >/dev/null 2>&1 || command -v chromium-browser >/dev/null 2>&1
}

found && exit 0
sh "$here/apt_install.sh" chromium && found && exit 0
echo "Chromium is missing, so pages cannot be tested: install chromium." >&2
exit 1
