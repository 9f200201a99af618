#!/usr/bin/env python3
"""Writes a registry of npm as files, for a static server: `registries.py DIST FOLDER [PORT]` takes the packages in DIST/npm."""
import base64
import hashlib
import json
import shutil
import sys
import tarfile
from pathlib import Path

dist, folder = Path(sys.argv[1]) / "npm", Path(sys.argv[2]) / "npm"
port = sys.argv[3] if len(sys.argv) > 3 else "0"
(folder / "-").mkdir(parents=True, exist_ok=True)
for file in dist.glob("*.tgz"):
    with tarfile.open(file) as packed:
        manifest = json.load(packed.extractfile("package/package.json"))
    shutil.copy(file, folder / "-" / file.name)
    integrity = "sha512-" + base64.b64encode(hashlib.sha512(file.read_bytes()).digest()).decode()
    manifest["dist"] = {"tarball": f"http://127.0.0.1:{port}/npm/-/{file.name}", "integrity": integrity}
    version = manifest["version"]
    document = {"name": manifest["name"], "dist-tags": {"latest": version}, "versions": {version: manifest}}
    (folder / manifest["name"]).parent.mkdir(exist_ok=True)
    (folder / manifest["name"]).write_text(json.dumps(document))
