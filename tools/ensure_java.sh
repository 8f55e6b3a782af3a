#!/bin/sh
# Make sure that Java 17 or newer is installed: find it, install it with apt, or print advice.
set -u
here=$(dirname "$0")

# Print the major version of a java command: 17 for "17.0.15", 8 for "1.8.0_392", or nothing.
major() {
  "$1" -version 2>&1 | sed -n 's/.*version "\(1\.\)\{0,1\}\([0-9][0-9]*\).*/\2/p' | head -n 1
}

# Spark starts $JAVA_HOME/bin/java if JAVA_HOME is set, else the java on the path.
enough() {
  if [ -n "${JAVA_HOME:-}" ]; then java=$JAVA_HOME/bin/java; else java=java; fi
  command -v "$java" >/dev/null 2>&1 || return 1
  found=$(major "$java")
  [ -n "$found" ] && [ "$found" -ge 17 ]
}

enough && exit 0
if [ -z "${JAVA_HOME:-}" ]; then
  # Newer Debian releases no longer have Java 17.
  for package in openjdk-17-jre-headless openjdk-21-jre-headless; do
    sh "$here/apt_install.sh" "$package" && enough && exit 0
  done
  echo "Java 17 or newer is missing: install openjdk-17-jre-headless, or set JAVA_HOME." >&2
else
  echo "JAVA_HOME=$JAVA_HOME is not Java 17 or newer: point it at one, or unset it." >&2
fi
exit 1
