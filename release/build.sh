#!/usr/bin/env bash
# Builds one target for a release: `bash release/build.sh [TARGET]` writes
# `prompt-expander-VERSION-TARGET.tar.gz` (`.zip` for Windows) into `target/dist`, or the folder
# that DIST names, and its line into SHA256SUMS there. With WHEEL=1, maturin packs the same program
# for PyPI.
#
# The program is linked statically. Two builds of one commit by one compiler give the same bytes, in
# whatever folders they are. On Linux, the target is that of musl; if this compiler does not have
# its standard library, glibc is linked statically instead, and a line says so.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

target=${1:-$(rustc -vV | sed -n 's/^host: //p' | sed 's/-linux-gnu$/-linux-musl/')}
if [ ! -d "$(rustc --print target-libdir --target "$target")" ]; then
    case $target in
    *-linux-musl)
        echo "not run: $target (this compiler has no standard library for it); the target of glibc is linked statically instead" >&2
        target=${target%musl}gnu
        ;;
    *)
        echo "error: this compiler has no standard library for $target; run: rustup target add $target" >&2
        exit 1
        ;;
    esac
fi
build=${CARGO_TARGET_DIR:-$PWD/target}
dist=${DIST:-$PWD/target/dist}
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
export MACOSX_DEPLOYMENT_TARGET=11.0

python=$(command -v python3 || command -v python)

# The names of folders must not get into the program. bash on Windows has its own names for them.
native() { if command -v cygpath >/dev/null; then cygpath -w "$1"; else echo "$1"; fi; }
flags=(
    "--remap-path-prefix=$(native "$PWD")=/prompt-expander"
    "--remap-path-prefix=$(native "$build")=/target"
    "--remap-path-prefix=$(native "${CARGO_HOME:-$HOME/.cargo}")=/cargo"
)
case $target in
# As `build.rs` does for a program that is linked dynamically: at a fixed address, a start is
# faster.
*-linux-*) flags+=(-C target-feature=+crt-static -C relocation-model=static) ;;
# Without the date of the build.
*-windows-msvc) flags+=(-C target-feature=+crt-static -C link-arg=/Brepro) ;;
esac
case $target in *-linux-musl) export "CC_${target//-/_}=musl-gcc" ;; esac
CARGO_ENCODED_RUSTFLAGS=$(IFS=$'\x1f' && printf '%s' "${flags[*]}")
export CARGO_ENCODED_RUSTFLAGS
# A host target needs `--target`, too: else the flags would apply to build scripts.
cargo build --locked --profile dist --bin prompt-expander --target "$target"

exe=
case $target in *-windows-*) exe=.exe ;; esac
name=prompt-expander-$version-$target
stage=$dist/stage/$name
rm -rf "$stage"
mkdir -p "$stage/completions"
cp "$build/$target/dist/prompt-expander$exe" "$stage/"
cp docs/man/prompt-expander.1 LICENSE-MIT LICENSE-APACHE README.md "$stage/"
"$python" release/pack.py licenses "$target" > "$stage/LICENSES-OF-LIBRARIES.txt"

# Called by its name, the program writes this name into the scripts, and not the path of this build.
completions() { PATH="$stage:$PATH" "prompt-expander$exe" completions "$1" | tr -d '\r' > "$stage/completions/$2"; }
completions bash prompt-expander.bash
completions zsh _prompt-expander
completions fish prompt-expander.fish
completions elvish prompt-expander.elv
completions powershell prompt-expander.ps1

"$stage/prompt-expander$exe" expand research a static program | tail -n 1 | grep -qx 'a static program'
case $target in
*-linux-*)
    if LC_ALL=C readelf --program-headers "$stage/prompt-expander" | grep -q INTERP; then
        echo "error: the program is not static: it needs a dynamic linker" >&2
        exit 1
    fi
    if LC_ALL=C readelf --section-headers "$stage/prompt-expander" | grep -q symtab; then
        echo "error: the program has its symbols, a fourth of its size: see 'strip' in Cargo.toml" >&2
        exit 1
    fi
    ;;
esac
"$python" release/pack.py archive "$stage" "$dist"
"$python" release/pack.py sums "$dist"

if [ -n "${WHEEL:-}" ]; then
    tags=(pypi)
    case $target in
    # A static program of musl runs everywhere.
    *-linux-musl) tags=(manylinux2014 musllinux_1_1) ;;
    *-linux-gnu) tags=(manylinux2014) ;;
    esac
    cd release
    maturin build --locked --profile dist --target "$target" --out "$dist" --auditwheel skip --compatibility "${tags[@]}"
fi
