#!/usr/bin/env python3
"""Packs what release/build.sh has built. Every package holds the same program as the archive, byte for byte.

  pack.py licenses TARGET      prints the licenses of the libraries in the program
  pack.py archive STAGE DIST   the archive of a folder
  pack.py npm DIST             the npm packages of the archives in DIST, in DIST/npm
  pack.py deb DIST             the Debian packages, in DIST
  pack.py image DIST           the files of the container image, in DIST/image
  pack.py formula DIST         the Homebrew formula, in DIST
  pack.py sums DIST            DIST/SHA256SUMS, with the base names of the files in DIST

Times and owners in archives are fixed: SOURCE_DATE_EPOCH, which is the date of the commit, and root.
"""
import gzip
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CARGO = (ROOT / "Cargo.toml").read_text(encoding="utf-8")
NAME = "prompt-expander"
# A target of the compiler; the platform and architecture of npm; the architecture of Debian and of
# containers.
TARGETS = [
    ("x86_64-unknown-linux", "linux-x64", "amd64"),
    ("aarch64-unknown-linux", "linux-arm64", "arm64"),
    ("x86_64-apple-darwin", "darwin-x64", None),
    ("aarch64-apple-darwin", "darwin-arm64", None),
    ("x86_64-pc-windows", "win32-x64", None),
    ("aarch64-pc-windows", "win32-arm64", None),
]


def field(key):
    return re.search(rf'^{key} = "([^"]*)"', CARGO, re.MULTILINE).group(1)


VERSION = field("version")
REPOSITORY = field("repository")


def epoch():
    if "SOURCE_DATE_EPOCH" not in os.environ:
        date = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, check=True, capture_output=True, text=True)
        os.environ["SOURCE_DATE_EPOCH"] = date.stdout.strip()
    return int(os.environ["SOURCE_DATE_EPOCH"])


def licenses(target):
    """The license files of all crates in the program: each text once, after the names of its crates."""
    command = ["cargo", "metadata", "--locked", "--format-version=1", f"--filter-platform={target}"]
    metadata = json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout)
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    found, waiting = set(), [metadata["resolve"]["root"]]
    while waiting:
        for dependency in nodes[waiting.pop()]["deps"]:
            is_linked = any(kind["kind"] is None for kind in dependency["dep_kinds"])
            if is_linked and dependency["pkg"] not in found:
                found.add(dependency["pkg"])
                waiting.append(dependency["pkg"])
    texts = {}
    for package in sorted((packages[id] for id in found), key=lambda package: (package["name"], package["version"])):
        crate = f"{package['name']} {package['version']} ({package['license'] or package['license_file']})"
        folder = Path(package["manifest_path"]).parent
        is_license = re.compile(r"(licen[cs]e|copying|notice|unlicense)", re.IGNORECASE).match
        files = sorted(file for file in folder.iterdir() if is_license(file.name) and file.is_file())
        for text in {" ".join(file.read_text("utf-8", "replace").split()): file for file in files}.values() or [None]:
            words = text.read_text("utf-8", "replace").replace("\r\n", "\n").strip() if text else "(no license file)"
            texts.setdefault(words, []).append(crate)
    out = io.TextIOWrapper(sys.stdout.buffer, encoding="utf-8", newline="\n")
    for words, crates in sorted(texts.items(), key=lambda item: item[1]):
        out.write("\n".join(crates) + f"\n\n{words}\n\n{'-' * 80}\n\n")
    out.flush()


def archive(stage, dist):
    stage, dist = Path(stage), Path(dist)
    files = sorted(file for file in stage.rglob("*") if file.is_file())
    named = [(f"{stage.name}/{file.relative_to(stage).as_posix()}", file) for file in files]
    mode = lambda file: 0o755 if file.stem == NAME and file.suffix in ("", ".exe") else 0o644
    if "-windows-" in stage.name:
        with zipfile.ZipFile(dist / f"{stage.name}.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=9) as made:
            for name, file in named:
                entry = zipfile.ZipInfo(name, time.gmtime(epoch())[:6])
                entry.external_attr, entry.compress_type, entry.create_system = mode(file) << 16, zipfile.ZIP_DEFLATED, 3
                made.writestr(entry, file.read_bytes())
        return
    with open(dist / f"{stage.name}.tar.gz", "wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as packed:
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as made:
            for name, file in named:
                entry = tarfile.TarInfo(name)
                entry.size, entry.mtime, entry.mode = file.stat().st_size, epoch(), mode(file)
                with open(file, "rb") as content:
                    made.addfile(entry, content)


def archives(dist):
    """The files of each archive: its row in the table of targets, and the bytes of its files by name."""
    for path in sorted(Path(dist).glob(f"{NAME}-{VERSION}-*")):
        row = next((row for row in TARGETS if path.name.startswith(f"{NAME}-{VERSION}-{row[0]}")), None)
        if row is None or not path.is_file():
            continue
        if path.suffix == ".zip":
            with zipfile.ZipFile(path) as packed:
                files = {name.split("/", 1)[1]: packed.read(name) for name in packed.namelist()}
        else:
            with tarfile.open(path) as packed:
                files = {entry.name.split("/", 1)[1]: packed.extractfile(entry).read() for entry in packed}
        yield row, files


def write(path, content, mode=0o644):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    path.chmod(mode)


def fresh(folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def npm(dist):
    made = fresh(Path(dist) / "npm")
    main = json.loads((ROOT / "release/npm/package.json").read_text(encoding="utf-8"))
    folders = [made / "main"]
    shutil.copytree(ROOT / "release/npm", folders[0])
    for (_, platform, _), files in archives(dist):
        folder = made / platform
        program = f"{NAME}.exe" if platform.startswith("win32") else NAME
        write(folder / "bin" / program, files[program], 0o755)
        kept = ["license", "repository", "homepage"]
        manifest = {
            "name": f"@{NAME}/{platform}",
            "version": VERSION,
            "description": f"The program of {NAME} for {platform}",
            **{key: main[key] for key in kept},
            "os": [platform.split("-")[0]],
            "cpu": [platform.split("-")[1]],
            "files": ["bin", "LICENSES-OF-LIBRARIES.txt"],
        }
        write(folder / "package.json", json.dumps(manifest, indent=2) + "\n")
        write(folder / "LICENSES-OF-LIBRARIES.txt", files["LICENSES-OF-LIBRARIES.txt"])
        folders.append(folder)
    for folder in folders:
        for file in ["LICENSE-MIT", "LICENSE-APACHE"]:
            shutil.copy(ROOT / file, folder)
        shutil.copy(ROOT / "release/package.md", folder / "README.md")
        command = [shutil.which("npm"), "pack", "--silent", "--ignore-scripts", "--pack-destination", str(made), str(folder)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        shutil.rmtree(folder)


def deb(dist):
    dist = Path(dist).resolve()
    for (_, _, architecture), files in archives(dist):
        if architecture is None:
            continue
        root = fresh(dist / "stage" / f"deb-{architecture}")
        file, share = f"{NAME}_{architecture}.deb", root / "usr/share"
        compressed = lambda content: gzip.compress(content, 9, mtime=0)
        write(root / "usr/bin" / NAME, files[NAME], 0o755)
        write(share / f"{NAME}/installed-by", "the Debian package\n")
        write(share / f"man/man1/{NAME}.1.gz", compressed(files[f"{NAME}.1"]))
        write(share / f"bash-completion/completions/{NAME}", files[f"completions/{NAME}.bash"])
        write(share / f"zsh/vendor-completions/_{NAME}", files[f"completions/_{NAME}"])
        write(share / f"fish/vendor_completions.d/{NAME}.fish", files[f"completions/{NAME}.fish"])
        doc = share / "doc" / NAME
        write(doc / "changelog.gz", compressed((ROOT / "CHANGELOG.md").read_bytes()))
        own = b"\n\n".join([b"The program is licensed under MIT or Apache 2.0, at your option.", files["LICENSE-MIT"], files["LICENSE-APACHE"]])
        write(doc / "copyright", own + b"\nThe libraries in it:\n\n" + files["LICENSES-OF-LIBRARIES.txt"])
        size = sum(file.stat().st_size for file in root.rglob("*") if file.is_file()) // 1024
        control = {
            "Package": NAME,
            "Version": VERSION,
            "Architecture": architecture,
            "Maintainer": "the prompt-expander contributors <noreply@github.com>",
            "Installed-Size": size,
            "Section": "utils",
            "Priority": "optional",
            "Homepage": REPOSITORY,
            "Description": "prompts as Markdown files, for all your coding agents\n"
            " Type :research solid-state batteries in a chat with a coding agent, and the\n"
            " agent gets the whole text of research.md with your words filled in.",
        }
        write(root / "DEBIAN/control", "".join(f"{key}: {value}\n" for key, value in control.items()))
        epoch()
        command = ["dpkg-deb", "--root-owner-group", "-Zxz", "--build", str(root), str(dist / file)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def image(dist):
    root = fresh(Path(dist) / "image")
    for (_, _, architecture), files in archives(dist):
        if architecture is not None:
            folder = root / architecture
            write(folder / "bin" / NAME, files[NAME], 0o755)
            write(folder / "share" / NAME / "installed-by", "a container image\n")
            (folder / "prompts").mkdir()
    shutil.copy(ROOT / "release/Dockerfile", root)


def formula(dist):
    sums = [line.split() for line in (Path(dist) / "SHA256SUMS").read_text().splitlines()]
    text = (ROOT / f"release/{NAME}.rb").read_text(encoding="utf-8")
    text = text.replace("@VERSION@", VERSION).replace("@REPOSITORY@", REPOSITORY)
    for target, platform, _ in TARGETS:
        found = next((sum for sum, file in sums if file.startswith(f"{NAME}-{VERSION}-{target}")), None)
        if found:
            text = text.replace(f"@SHA256 {platform}@", found)
    missing = re.findall(r"@SHA256 (.*)@", text)
    if missing:
        print(f"not run: the formula has no checksums of {', '.join(missing)}", file=sys.stderr)
    write(Path(dist) / f"{NAME}.rb", text)


def sums(dist):
    files = sorted(file for file in Path(dist).iterdir() if file.is_file() and file.name != "SHA256SUMS")
    lines = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in files]
    (Path(dist) / "SHA256SUMS").write_text("".join(lines), newline="\n")


if __name__ == "__main__":
    commands = {function.__name__: function for function in (licenses, archive, npm, deb, image, formula, sums)}
    if len(sys.argv) < 3 or sys.argv[1] not in commands:
        sys.exit(__doc__)
    commands[sys.argv[1]](*sys.argv[2:])
