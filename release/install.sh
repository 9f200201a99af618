#!/bin/sh
# Installs prompt-expander into ~/.local/bin: downloads the archive for this system, compares its
# checksum, and renames the program into place. It needs no root and changes no profile; it says how
# to add the folder to PATH. The same command updates the program.
#
#   curl -fsSL https://github.com/OWNER/prompt-expander/releases/latest/download/install.sh | sh
#
# PROMPT_EXPANDER_URL another folder with SHA256SUMS and the archives: a mirror, or another version,
# as in …/releases/download/v0.2.0 PROMPT_EXPANDER_BIN another folder for the program
set -eu

default_url=https://github.com/OWNER/prompt-expander/releases/latest/download

fail() {
    printf 'error: %s\n' "$1" >&2
    [ $# -lt 2 ] || printf '%s\n' "$2" >&2
    exit 1
}

# The beginning of the compiler's name for this system. A program for Linux is static, so its libc
# does not matter.
target() {
    system=$(uname -s)
    machine=$(uname -m)
    case $machine in
    x86_64 | amd64) machine=x86_64 ;;
    aarch64 | arm64) machine=aarch64 ;;
    *) unknown ;;
    esac
    case $system in
    # The kernel may have 64 bits, and the programs 32.
    Linux) [ "$(getconf LONG_BIT 2>/dev/null || echo 64)" = 64 ] || unknown && echo "$machine-unknown-linux" ;;
    Darwin)
        # A shell under Rosetta says x86_64.
        [ "$(sysctl -n sysctl.proc_translated 2>/dev/null || echo 0)" = 0 ] || machine=aarch64
        echo "$machine-apple-darwin"
        ;;
    MINGW* | MSYS* | CYGWIN*) fail "this script is for Linux and macOS" "On Windows, run install.ps1 in PowerShell." ;;
    *) unknown ;;
    esac
}

unknown() {
    fail "there is no program for this system: $(uname -s) $(uname -m)" \
        "There are programs for Linux, macOS and Windows, on x64 and arm64. Elsewhere, build it from source: cargo install --locked --path ."
}

# Downloads $1 into the file $2.
download() {
    if command -v curl >/dev/null 2>&1; then
        case $1 in
        https:*) curl --proto '=https' --fail --silent --show-error --location --connect-timeout 30 --output "$2" "$1" ;;
        *) curl --fail --silent --show-error --location --connect-timeout 30 --output "$2" "$1" ;;
        esac
    elif command -v wget >/dev/null 2>&1; then
        wget -q -O "$2" "$1"
    else
        fail "neither curl nor wget is here" "Install one of them, and try again."
    fi || fail "cannot download $1 to $2" "The line above says why, such as a broken connection or a full disk. Nothing was installed; try again."
}

sha256() {
    if command -v sha256sum >/dev/null 2>&1; then
        sha256sum "$1"
    elif command -v shasum >/dev/null 2>&1; then
        shasum -a 256 "$1"
    else
        openssl dgst -sha256 -r "$1"
    fi | cut -d ' ' -f 1
}

# shellcheck disable=SC2016 # the shell of the user replaces $PATH
say_how_to_find_it() {
    case ":$PATH:" in
    *":$1:"*)
        first=$(command -v prompt-expander || true)
        [ "$first" = "$1/prompt-expander" ] || printf 'warning: another program comes first in PATH: %s\n' "$first" >&2
        return
        ;;
    esac
    printf '%s is not in PATH. To add it, ' "$1"
    case ${SHELL:-} in
    */fish) printf 'run:\n    fish_add_path %s\n' "$1" ;;
    */zsh) printf 'write this line into ~/.zshrc, and open a new terminal:\n    export PATH="%s:$PATH"\n' "$1" ;;
    */bash) printf 'write this line into ~/.bashrc, and open a new terminal:\n    export PATH="%s:$PATH"\n' "$1" ;;
    *) printf 'write this line into ~/.profile, and log in again:\n    export PATH="%s:$PATH"\n' "$1" ;;
    esac
}

main() {
    url=${PROMPT_EXPANDER_URL:-$default_url}
    target=$(target)
    if [ -z "${PROMPT_EXPANDER_BIN:-}" ] && [ -z "${HOME:-}" ]; then
        fail "HOME is not set" "Set it, or name a folder for the program: PROMPT_EXPANDER_BIN=/home/ana/bin"
    fi
    if [ -n "${SUDO_USER:-}" ]; then
        fail "this script needs no root, and would leave files of root in your home directory" "Run it without sudo."
    fi
    bin=${PROMPT_EXPANDER_BIN:-$HOME/.local/bin}
    if ! mkdir -p "$bin" 2>/dev/null || [ ! -w "$bin" ]; then
        fail "cannot write into $bin" "Make it writable, or name another folder: PROMPT_EXPANDER_BIN=/home/ana/bin"
    fi
    bin=$(cd "$bin" && pwd)

    # In the same folder: programs in /tmp may not be allowed to run, and a rename needs one file
    # system.
    new=$(mktemp -d "$bin/.prompt-expander.XXXXXX") || fail "cannot make a folder in $bin" "Is the disk full?"
    trap 'rm -rf "$new"' EXIT
    trap 'exit 1' HUP INT TERM

    download "$url/SHA256SUMS" "$new/SHA256SUMS"
    archive=$(sed -n "s/^[0-9a-f]\{64\}  \(prompt-expander-[^ /]*-${target}[a-z-]*\.tar\.gz\)\$/\1/p" "$new/SHA256SUMS" | head -n 1)
    [ -n "$archive" ] || fail "$url/SHA256SUMS names no archive for $target" "Is PROMPT_EXPANDER_URL right?"
    download "$url/$archive" "$new/$archive"
    expected=$(sed -n "s/^\([0-9a-f]\{64\}\)  $archive\$/\1/p" "$new/SHA256SUMS" | head -n 1)
    found=$(sha256 "$new/$archive")
    if [ "$expected" != "$found" ]; then
        fail "the checksum of $url/$archive is wrong: $found instead of $expected" \
            "Nothing was installed. The file was damaged or replaced on its way: try again, and if it stays wrong, report it."
    fi
    tar -xzf "$new/$archive" -C "$new" || fail "cannot unpack the archive into $bin" "Is the disk full? Nothing was installed."
    program=$new/${archive%.tar.gz}/prompt-expander
    "$program" --version >"$new/version" 2>&1 ||
        fail "the program does not run here: $(cat "$new/version")" "Nothing was installed. If $bin is mounted noexec, name another folder: PROMPT_EXPANDER_BIN=…"
    mv -f "$program" "$bin/prompt-expander" || fail "cannot replace $bin/prompt-expander"

    # `prompt-expander --version` reads it.
    share=$bin/../share/prompt-expander
    if ! { mkdir -p "$share" && echo install.sh >"$share/installed-by"; } 2>/dev/null; then
        printf 'warning: cannot write %s/installed-by, so "prompt-expander --version" will not name this script\n' "$share" >&2
    fi
    printf 'installed %s as %s\n' "$(head -n 1 "$new/version")" "$bin/prompt-expander"
    say_how_to_find_it "$bin"
    printf 'Next, see which coding agents are here: prompt-expander install\n'
}

# All is read before anything runs, so that a download of this script that is cut does nothing.
main
