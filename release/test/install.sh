#!/usr/bin/env bash
# Tests release/install.sh against a server on loopback: `bash release/test/install.sh URL DIST`,
# where URL serves DIST. Prints a line for each case, and ends with 1 if one failed.
set -uo pipefail
url=$1
dist=$2
script=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/install.sh
work=$(mktemp -d)
trap 'umount "$work/full" "$work/tmp" 2>/dev/null; rm -rf "$work"' EXIT
failed=0

# case_ NAME STATUS TEXT COMMAND…: what the command prints must have the text, and its status must
# be 0 or not.
case_() {
    local name=$1 status=$2 text=$3 printed got
    shift 3
    printed=$("$@" 2>&1)
    got=$?
    if { [ "$status" = ok ] && [ $got != 0 ]; } || { [ "$status" = error ] && [ $got = 0 ]; } || [[ $printed != *"$text"* ]]; then
        printf 'FAILED  %s (status %s)\n%s\n' "$name" "$got" "$printed"
        failed=1
    else
        printf 'ok      %s\n' "$name"
    fi
}
# What no case may do: leave anything in the folder of programs but the program.
check() {
    if [ "$2" = "$(cd "$1" 2>/dev/null && find . ! -name . | sort | tr '\n' ' ')" ]; then return; fi
    printf 'FAILED  %s holds: %s\n' "$1" "$(ls -RA "$1")"
    failed=1
}
# run HOME [VARIABLE=VALUE…]: the script with only these variables.
shell=(sh)
# shellcheck disable=SC2317,SC2329 # it is called through case_
run() { env -i PATH="${path:-/usr/bin:/bin}" HOME="$1" SHELL=/bin/bash PROMPT_EXPANDER_URL="$url" "${@:2}" "${shell[@]}" "$script"; }

home=$work/home
mkdir "$home"
case_ "it installs, and says how to add the folder to PATH" ok "export PATH=\"$home/.local/bin:\$PATH\"" run "$home"
check "$home" "./.local ./.local/bin ./.local/bin/prompt-expander ./.local/share ./.local/share/prompt-expander ./.local/share/prompt-expander/installed-by "
case_ "the installed program expands" ok "graphene" env -i HOME="$home" "$home/.local/bin/prompt-expander" expand research graphene
for words in dash "bash --posix" "busybox sh"; do
    read -ra shell <<<"$words"
    command -v "${shell[0]}" >/dev/null || { echo "not run: ${shell[0]} is not installed"; continue; }
    case_ "it works in $words" ok "installed prompt-expander" run "$home"
done
shell=(sh)
mkdir "$work/wget" && ln -s /usr/bin/* /bin/* "$work/wget/" 2>/dev/null
rm "$work/wget/curl"
path=$work/wget
case_ "it works with wget" ok "installed prompt-expander" run "$home"
unset path

# A server that runs keeps its file, and answers after the update.
mkfifo "$work/in"
env -i HOME="$home" "$home/.local/bin/prompt-expander" <"$work/in" >"$work/out" &
server=$!
exec 3>"$work/in"
case_ "it installs over a running program" ok "installed prompt-expander" run "$home"
printf '{"jsonrpc":"2.0","id":1,"method":"ping"}\n' >&3
exec 3>&-
wait $server
case_ "which still answers" ok '"id":1' cat "$work/out"

mkdir -p "$work/first"
printf '#!/bin/sh\necho old\n' >"$work/first/prompt-expander" && chmod +x "$work/first/prompt-expander"
path=$work/first:$home/.local/bin:/usr/bin:/bin
case_ "it names a program that is first in PATH" ok "another program comes first in PATH: $work/first/prompt-expander" run "$home"
unset path

# What fails leaves the old program as it is, and nothing beside it.
printf 'old' >"$home/.local/bin/prompt-expander"
mkdir "$work/wrong" && cp "$dist"/prompt-expander-*.tar.gz "$work/wrong/"
sed 's/^........../0000000000/' "$dist/SHA256SUMS" >"$work/wrong/SHA256SUMS"
case_ "a wrong checksum is refused" error "the checksum of" run "$home" PROMPT_EXPANDER_URL="file://$work/wrong"
case_ "a cut download is refused" error "cannot download" run "$home" PROMPT_EXPANDER_URL="$url/cut"
mkdir "$work/short" && cp "$dist/SHA256SUMS" "$work/short/"
for archive in "$dist"/prompt-expander-*.tar.gz; do head -c 100000 "$archive" >"$work/short/${archive##*/}"; done
case_ "a file that is cut on the server is refused" error "the checksum of" run "$home" PROMPT_EXPANDER_URL="file://$work/short"
case_ "a server that is not there" error "cannot download" run "$home" PROMPT_EXPANDER_URL="http://127.0.0.1:9"
mkdir "$work/none" && : >"$work/none/SHA256SUMS"
case_ "a release without this system" error "names no archive for" run "$home" PROMPT_EXPANDER_URL="file://$work/none"
mkdir "$work/unknown"
for system in "FreeBSD amd64" "Linux riscv64" "MINGW64_NT-10.0 x86_64"; do
    # shellcheck disable=SC2016 # the other script replaces it
    printf '#!/bin/sh\n[ "$1" = -s ] && echo %s || echo %s\n' "${system% *}" "${system#* }" >"$work/unknown/uname" && chmod +x "$work/unknown/uname"
    path=$work/unknown:/usr/bin:/bin
    case_ "an unknown system: $system" error "error: " run "$home"
    unset path
done
case_ "a limit on the size of files" error "cannot download" bash -c "ulimit -f 100; trap '' XFSZ; $(declare -f run); url=$url script=$script; run $home"
case_ "the old program is still there" ok old cat "$home/.local/bin/prompt-expander"
check "$home/.local/bin" "./prompt-expander "

case_ "HOME is empty" error "HOME is not set" run ""
case_ "a folder that the user names" ok "$work/named/prompt-expander" run "" PROMPT_EXPANDER_BIN="$work/named"
case_ "sudo is refused" error "Run it without sudo" run "$home" SUDO_USER=ana
: >"$work/file"
case_ "HOME is no folder" error "cannot write into" run "$work/file"

if [ "$(id -u)" = 0 ]; then
    mkdir "$work/full" "$work/tmp" "$work/other"
    mount -t tmpfs -o size=1m none "$work/full" 2>/dev/null &&
        case_ "a full disk" error "full disk" run "$work/full" && check "$work/full/.local/bin" "" ||
        echo "not run: a full disk (no file system can be mounted here)"
    umount "$work/full" 2>/dev/null
    mount -t tmpfs -o noexec none "$work/tmp" 2>/dev/null &&
        case_ "a /tmp in which nothing may run" ok "installed prompt-expander" run "$home" TMPDIR="$work/tmp" &&
        case_ "a HOME in which nothing may run" error "the program does not run here" run "$work/tmp" ||
        echo "not run: noexec (no file system can be mounted here)"
    mount -o remount,ro "$work/tmp" 2>/dev/null && case_ "a HOME that is read-only" error "cannot write into" run "$work/tmp"
    chmod 755 "$work" && chown 65534 "$work/other"
    case_ "a user without any rights" ok "installed prompt-expander" setpriv --reuid 65534 --clear-groups \
        env -i PATH=/usr/bin:/bin HOME="$work/other" PROMPT_EXPANDER_URL="$url" sh -s <"$script"
else
    echo "not run: a full disk, noexec and read-only file systems (only root can mount them)"
fi
exit $failed
