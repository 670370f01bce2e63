#!/bin/sh
# Programs that some tests need: Debian's are installed where they are missing and may be. Never fails.

has_chromium() {
    command -v chromium || command -v chromium-browser || command -v google-chrome
}

has_java() {
    [ -n "$JAVA_HOME" ] || command -v java
}

may() { # become root without being asked for a password
    command -v apt-get && { [ "$(id -u)" = 0 ] || sudo -n true; }
}

apt() {
    set -- apt-get -o Acquire::Retries=1 -o Acquire::http::Timeout=30 -o DPkg::Lock::Timeout=60 -qq "$@"
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}

get() { # $1, which is found by $2 and needed for $3, by the first of the other packages that there is
    name=$1 found=$2 use=$3
    shift 3
    if $found >/dev/null; then return; fi
    if may >/dev/null 2>&1; then
        echo "Installing $name, for $use ..."
        apt update >/dev/null 2>&1
        for package; do
            apt -y install --no-install-recommends "$package" >/dev/null 2>&1
            if $found >/dev/null; then return; fi
        done
    fi
    echo "There is no $name, and none can be installed here: $use are skipped."
}

export DEBIAN_FRONTEND=noninteractive
get Chromium has_chromium "the tests in a browser" chromium
get Java has_java "the tests of Spark" openjdk-21-jre-headless openjdk-17-jre-headless
exit 0
