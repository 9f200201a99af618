#!/usr/bin/env bash
# Builds a release for this system, packs each package, installs it as its users do into a fresh
# HOME or root, uses it and removes it: `bash release/test.sh`. Everything comes from this machine:
# the archives, a registry of npm and an index of PyPI are served on loopback.
#
# It needs cargo, Python 3 and git, and runs what npm, uv, pipx or pip, maturin, dpkg, docker,
# claude, shellcheck and actionlint allow; what is not here is listed as not run. DIST names a
# folder with what release/build.sh has built, which is then used instead of a new build.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

work=$(mktemp -d)
servers=()
trap 'set +e; kill "${servers[@]}" 2>/dev/null; umount "$work/root/proc" 2>/dev/null; rm -rf "$work"' EXIT
dist=${DIST:-$PWD/target/dist}
if [ -z "${DIST:-}" ]; then
    rm -rf "$dist"
    WHEEL=$(command -v maturin || true) DIST=$dist bash release/build.sh
fi
export SOURCE_DATE_EPOCH
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
has() { command -v "$1" >/dev/null 2>&1; }
table=$work/table
not_run() { printf '| %s | not run: %s |\n' "$1" "$2" | tee -a "$table" >&2; }
fail() { printf 'error: %s\n' "$*" >&2; exit 1; }
now() { python3 -c 'import time; print(time.time())'; }

# begin NAME: a fresh HOME, in which Codex was before, and the clock.
begin() {
    name=$1
    printf '\n== %s\n' "$name" >&2
    home=$work/home/${name// /-}
    mkdir -p "$home/.codex"
    inside=(env -i "HOME=$home" "PATH=$home/.local/bin:${path:-$PATH}" "LANG=C.UTF-8" "TERM=dumb")
    started=$(now)
}

# expands COMMAND…: this way to start the program expands; the clock stops.
expands() {
    [ "$("${inside[@]}" "$@" expand research solid-state batteries | tail -n 1)" = "solid-state batteries" ] || fail "$name does not expand"
    python3 -c "print(f'| $name | {$(now) - $started:.1f} s |')" >>"$table"
}

initialize='{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}'
call='{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"expand_prompt","arguments":{"command":"research","input":"solar cells"}}}'
talks() {
    local answers
    answers=$(printf '%s\n' "$initialize" "$call" | "${inside[@]}" "$@")
    [[ $answers == *'"serverInfo"'* && $answers == *'solar cells'* ]] || fail "$name does not answer: $answers"
}

# knows WAY COMMAND…: the program says how it was installed.
knows() {
    local says
    says=$("${inside[@]}" "${@:2}" --version)
    [[ $says == *"installed with $1" ]] || fail "$name does not know how it was installed: $says"
}

# registers COMMAND…: `install codex` registers a program, no wrapper, which works without the
# package runner's cache.
registers() {
    "${inside[@]}" "$@" install codex --yes >"$work/installed" 2>&1 || fail "$name: $(cat "$work/installed")"
    registered=$(sed -n 's/^command = ["'\'']\(.*\)["'\'']$/\1/p' "$home/.codex/config.toml" | head -n 1)
    # A script would begin with `#!`.
    [ "$(head -c 2 "$registered" | tr -d '\0')" != '#!' ] || fail "$name registers a wrapper: $registered"
    rm -rf "$home/.npm/_npx" "$home/.cache"
    talks "$registered"
}

# removes COMMAND…: `uninstall --all` leaves nothing of this program in the agent's configuration.
removes() {
    "${inside[@]}" "$@" uninstall --all --yes >"$work/removed" 2>&1 || fail "$name: $(cat "$work/removed")"
    ! grep -rqs prompt-expander "$home/.codex" || fail "$name leaves its registration"
}

# serve FOLDER: sets `port`.
serve() {
    local port_file=$work/port.${#servers[@]}
    python3 release/test/serve.py "$1" "$port_file" &
    servers+=($!)
    until [ -s "$port_file" ]; do kill -0 "${servers[-1]}" && sleep 0.05; done
    port=$(cat "$port_file")
}

serve "$dist"
releases=http://127.0.0.1:$port
archive=$(cd "$dist" && ls prompt-expander-*.tar.gz)
(cd "$dist" && sha256sum --check --quiet SHA256SUMS)
! grep / "$dist/SHA256SUMS" || fail "SHA256SUMS names a folder"

# The static program looks up names: here, in /etc/hosts; the service is the server on loopback.
begin "archive, unpacked"
mkdir -p "$home/.local/bin"
tar -xzf "$dist/$archive" -C "$work"
cp "$work/${archive%.tar.gz}/prompt-expander" "$home/.local/bin/"
expands prompt-expander
talks prompt-expander
printf '{"openapi":"3.1.0","info":{"title":"t","version":"1"},"paths":{"/p":{"post":{"x-mcp-prompt":{"name":"rendered"}}}}}' >"$home/service.json"
service=(--openapi "$home/service.json" --openapi-base "http://localhost:$port")
answer=$("${inside[@]}" prompt-expander "${service[@]}" expand rendered 2>&1) || true
[[ $answer == *"rendered by the service"* ]] || fail "the program does not find localhost: $answer"

begin "install.sh"
"${inside[@]}" "PROMPT_EXPANDER_URL=$releases" sh release/install.sh >&2
expands prompt-expander
knows install.sh prompt-expander
talks prompt-expander
registers prompt-expander
removes prompt-expander
rm -r "$home/.local/bin/prompt-expander" "$home/.local/share/prompt-expander"
bash release/test/install.sh "$releases" "$dist" >&2 || fail "install.sh"

if has npm; then
    python3 release/pack.py npm "$dist"
    python3 release/test/registries.py "$dist" "$work/registries"
    serve "$work/registries"
    python3 release/test/registries.py "$dist" "$work/registries" "$port" # the addresses of the packages have the port
    npm=("npm_config_registry=http://127.0.0.1:$port/npm/" "npm_config_update_notifier=false" "npm_config_fund=false" "npm_config_audit=false")
    begin "npx -y prompt-expander"
    inside+=("${npm[@]}")
    expands npx -y prompt-expander
    knows npx npx -y prompt-expander
    talks npx -y prompt-expander
    registers npx -y prompt-expander
    removes npx -y prompt-expander
    [ ! -e "$home/.local/bin/prompt-expander" ] || fail "uninstall --all leaves the copied program"

    begin "npm install -g"
    inside+=("${npm[@]}" "npm_config_prefix=$home/.local")
    "${inside[@]}" npm install --silent -g prompt-expander >&2
    expands prompt-expander
    knows npm prompt-expander
    talks prompt-expander
    registers prompt-expander
    removes prompt-expander
    "${inside[@]}" npm uninstall --silent -g prompt-expander >&2
    [ ! -e "$home/.local/bin/prompt-expander" ] || fail "npm leaves the program"
else
    not_run npm "npm is not installed"
fi

wheel=$(find "$dist" -maxdepth 1 -name '*.whl' | head -n 1)
if [ -n "$wheel" ]; then
    mkdir -p "$work/index/simple/prompt-expander"
    cp "$wheel" "$work/index/simple/prompt-expander/"
    serve "$work/index"
    index=http://127.0.0.1:$port/simple/
    if has uv; then
        begin "uvx prompt-expander"
        inside+=("UV_DEFAULT_INDEX=$index" "UV_PYTHON_DOWNLOADS=never")
        expands uvx --quiet prompt-expander
        knows uvx uvx --quiet prompt-expander
        talks uvx --quiet prompt-expander
        registers uvx --quiet prompt-expander
        removes uvx --quiet prompt-expander

        begin "uv tool install"
        inside+=("UV_DEFAULT_INDEX=$index" "UV_PYTHON_DOWNLOADS=never")
        "${inside[@]}" uv tool install --quiet prompt-expander >&2
        expands prompt-expander
        knows uv prompt-expander
        registers prompt-expander
        removes prompt-expander
        "${inside[@]}" uv tool uninstall --quiet prompt-expander >&2
        [ ! -e "$home/.local/bin/prompt-expander" ] || fail "uv leaves the program"
    else
        not_run "uvx, uv tool" "uv is not installed"
    fi
    if has pipx; then
        begin "pipx install"
        "${inside[@]}" "PIP_INDEX_URL=$index" "UV_DEFAULT_INDEX=$index" pipx install --quiet prompt-expander >&2
        expands prompt-expander
        knows pipx prompt-expander
        registers prompt-expander
        removes prompt-expander
        "${inside[@]}" pipx uninstall prompt-expander >&2
        [ ! -e "$home/.local/bin/prompt-expander" ] || fail "pipx leaves the program"
    else
        not_run pipx "pipx is not installed"
    fi
    begin "pip install"
    python3 -m venv "$home/.local"
    "${inside[@]}" "$home/.local/bin/pip" install --quiet --disable-pip-version-check --index-url "$index" prompt-expander >&2
    expands prompt-expander
    knows pip prompt-expander
    talks prompt-expander
    registers prompt-expander
    removes prompt-expander
    "${inside[@]}" "$home/.local/bin/pip" uninstall --quiet --yes prompt-expander >&2
    [ ! -e "$home/.local/bin/prompt-expander" ] || fail "pip leaves the program"
else
    not_run PyPI "there is no wheel; install maturin"
fi

if has dpkg-deb && [ "$(id -u)" = 0 ]; then
    python3 release/pack.py deb "$dist"
    deb=$(ls "$dist"/*.deb)
    root=$work/root
    mkdir -p "$root/var/lib/dpkg/updates" "$root/var/lib/dpkg/info" "$root/etc" "$root/home/.codex" "$root/proc"
    touch "$root/var/lib/dpkg/status" "$root/var/lib/dpkg/available"
    begin "deb"
    # A static program needs nothing else in the root.
    inside=(env -i HOME=/home PATH=/usr/bin:/usr/sbin:/bin:/sbin chroot "$root")
    home=$root/home
    dpkg --root="$root" --log=/dev/null -i "$deb" >&2
    expands /usr/bin/prompt-expander
    talks /usr/bin/prompt-expander
    mount -t proc none "$root/proc" # the program finds its own path there
    knows "the Debian package" /usr/bin/prompt-expander
    "${inside[@]}" /usr/bin/prompt-expander install codex --yes >&2
    grep -q '"/usr/bin/prompt-expander"' "$home/.codex/config.toml" || fail "deb: $(cat "$home/.codex/config.toml")"
    removes /usr/bin/prompt-expander
    umount "$root/proc"
    dpkg --root="$root" --log=/dev/null --purge prompt-expander >&2
    [ -z "$(find "$root" -name '*prompt-expander*')" ] || fail "dpkg leaves: $(find "$root" -name '*prompt-expander*')"
else
    not_run deb "only root can install it with dpkg"
fi

python3 release/pack.py image "$dist"
if has docker && docker info >/dev/null 2>&1; then
    begin "container"
    "${inside[@]}" docker build --quiet --tag prompt-expander:test "$dist/image" >&2
    expands docker run --rm prompt-expander:test
    talks docker run --rm -i prompt-expander:test serve
    "${inside[@]}" docker rmi --force prompt-expander:test >&2
else
    not_run container "no daemon of docker runs"
fi
# The same files and user, without docker: the server over HTTP with tokens, and its health check.
if [ "$(id -u)" = 0 ] && busybox=$(command -v busybox) && ! ldd "$busybox" >/dev/null 2>&1; then
    begin "container, as a chroot"
    root=$work/image
    cp -r "$dist/image/$(dpkg --print-architecture)" "$root"
    mkdir "$root/config" "$root/dev"
    # Docker makes them.
    mknod -m 666 "$root/dev/null" c 1 3
    mknod -m 666 "$root/dev/random" c 1 8
    mknod -m 666 "$root/dev/urandom" c 1 9
    cp "$busybox" "$root/bin/wget"
    "$root/bin/prompt-expander" token add ana --token-file "$root/config/tokens" >/dev/null 2>&1
    chmod 644 "$root/config/tokens" # it has only hashes
    inside=(env -i HOME=/config "$(command -v chroot)" --userspec=65532:65532 "$root")
    expands /bin/prompt-expander
    talks /bin/prompt-expander serve --prompts /prompts
    # What the Dockerfile says, one word in each line.
    words() { sed -n "s/^$1 //p" release/Dockerfile | python3 -c 'import json, sys; print(*json.load(sys.stdin), sep="\n")'; }
    mapfile -t command < <(words ENTRYPOINT && words CMD)
    mapfile -t health < <(words 'HEALTHCHECK .* CMD')
    ! "${inside[@]}" "${health[@]}" 2>/dev/null || fail "the health check passes without a server"
    "${inside[@]}" "${command[@]}" 2>"$work/serve.log" &
    servers+=($!)
    for _ in $(seq 100); do
        "${inside[@]}" "${health[@]}" 2>/dev/null && break
        kill -0 "${servers[-1]}" || fail "the container does not serve: $(cat "$work/serve.log")"
        sleep 0.1
    done
    "${inside[@]}" "${health[@]}" || fail "the health check: $(cat "$work/serve.log")"
else
    not_run "container, as a chroot" "it needs root and busybox-static"
fi

if has claude; then
    begin "Claude Code plugin"
    cp "$work/${archive%.tar.gz}/prompt-expander" "$home/.local/bin/" 2>/dev/null || install -D "$work/${archive%.tar.gz}/prompt-expander" "$home/.local/bin/prompt-expander"
    "${inside[@]}" claude plugin validate . >&2
    "${inside[@]}" claude plugin validate plugins/prompt-expander >&2
    "${inside[@]}" claude plugin marketplace add "$PWD" >&2
    "${inside[@]}" claude plugin install prompt-expander@prompt-expander >&2
    "${inside[@]}" claude mcp list 2>&1 | grep "plugin:prompt-expander:prompts.*Connected" >&2
    expands prompt-expander
    # The hook would run twice.
    "${inside[@]}" prompt-expander install claude-code --yes >&2
    ! grep -q UserPromptSubmit "$home/.claude/settings.json" || fail "install adds the hook though the plugin has it"
    removes prompt-expander
    "${inside[@]}" claude plugin uninstall prompt-expander@prompt-expander >&2
else
    not_run "Claude Code plugin" "claude is not installed"
fi

python3 release/pack.py formula "$dist"
if has brew; then brew style "$dist/prompt-expander.rb" >&2; else not_run Homebrew "brew is not installed"; fi
has pwsh || not_run install.ps1 "PowerShell is not installed"
if has shellcheck; then
    shellcheck release/build.sh release/install.sh release/test.sh release/test/install.sh .ci/run
else
    not_run shellcheck "it is not installed"
fi
if has actionlint; then actionlint; else not_run actionlint "it is not installed"; fi
cargo package --locked --list --allow-dirty >"$work/crate"
grep -qx 'prompts/research.md' "$work/crate" || fail "the crate has no prompts"

printf '\n| way | from nothing to the expansion of :research |\n|---|---|\n'
cat "$table"
