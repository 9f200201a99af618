//! How this program was installed. Its path says it, and files beside it: those of package
//! managers, and one that a packager can add.

use crate::agents::is_same_file;
use crate::cli::user_folders;
use crate::whole_file;
use anyhow::Context;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// The signs of package managers: a folder in the path of the program or, after `../`, a file
/// beside its folder. Then two commands, whose first word is the manager: the one that updates an
/// installed program, and the one for a program in the cache of the manager's runner, which has
/// `install` make a new copy.
const MANAGERS: [(&str, &str, &str); 4] = [
    (
        "node_modules",
        "npm install -g prompt-expander@latest",
        "npx -y prompt-expander@latest install --all",
    ),
    ("../uv-receipt.toml", "uv tool upgrade prompt-expander", UVX),
    (
        "../pipx_metadata.json",
        "pipx upgrade prompt-expander",
        "pipx run --no-cache prompt-expander install --all",
    ),
    ("../pyvenv.cfg", PIP, UVX),
];

const PIP: &str = "pip install --upgrade prompt-expander";
const UVX: &str = "uvx prompt-expander@latest install --all";

/// What a packager can put beside the folder of the program: two lines, the name that follows
/// "installed with", and the command that updates the program.
const RECEIPT: &str = "share/prompt-expander/installed-by";

/// How a program was installed.
#[derive(Debug, PartialEq)]
pub(super) struct InstallMethod {
    /// Such as `installed with npm`.
    pub(super) description: String,
    /// The command that updates it.
    pub(super) update: Option<String>,
}

impl InstallMethod {
    /// How this program was installed, or the one of which `install` has made this copy.
    pub(super) fn of_this() -> anyhow::Result<InstallMethod> {
        let this = env::current_exe().context("the file of this program cannot be found")?;
        let copied = || {
            let recorded = whole_file::read_text(&copy_record()?).ok()?;
            let (path, method) = recorded.split_once('\n')?;
            InstallMethod::parse(method).filter(|_| is_same_file(Path::new(path), &this))
        };
        Ok(copied().unwrap_or_else(|| InstallMethod::of(&this)))
    }

    /// How the program with this path was installed.
    pub(super) fn of(program: &Path) -> InstallMethod {
        let program = &fs::canonicalize(program).unwrap_or_else(|_| program.to_owned());
        let root = program.parent().and_then(Path::parent).unwrap_or(program);
        let is_there = |(sign, ..): &&(&str, _, _)| match sign.strip_prefix("../") {
            Some(file) => root.join(file).is_file(),
            None => program.components().any(|part| part.as_os_str() == *sign),
        };
        let managed = MANAGERS.iter().find(is_there);
        let managed = managed.map(|(_, installed, run)| {
            if is_in_cache(program) {
                *run
            } else {
                *installed
            }
        });
        if let Some(command) = managed.or_else(|| has_python_package(root).then_some(PIP)) {
            let name = command.split(' ').next().unwrap_or_default();
            return InstallMethod {
                description: format!("installed with {name}"),
                update: Some(command.to_owned()),
            };
        }
        if let Some(command) = of_cargo(root) {
            return InstallMethod {
                description: "installed with cargo".to_owned(),
                update: Some(command),
            };
        }
        if let Some(folder) = checkout(program) {
            let command = from_checkout(&folder.to_string_lossy());
            return InstallMethod {
                description: format!("built in {}", folder.display()),
                update: Some(command),
            };
        }
        let receipt = whole_file::read_text(&root.join(RECEIPT))
            .map(|receipt| format!("installed with {receipt}"));
        let unknown = || InstallMethod {
            description: format!("installed at {}", program.display()),
            update: None,
        };
        receipt
            .ok()
            .and_then(|receipt| InstallMethod::parse(&receipt))
            .unwrap_or_else(unknown)
    }

    /// Reads two lines.
    fn parse(lines: &str) -> Option<InstallMethod> {
        let mut lines = lines
            .lines()
            .map(str::to_owned)
            .filter(|line| !line.is_empty());
        Some(InstallMethod {
            description: lines.next()?,
            update: lines.next(),
        })
    }

    /// What the [record](copy_record) says of a copy.
    pub(super) fn of_copy(&self, path: &Path) -> String {
        format!(
            "{}\n{}\n{}\n",
            path.display(),
            self.description,
            self.update.as_deref().unwrap_or_default()
        )
    }
}

/// The file that names the copy that `install` made, and says how the program was installed that
/// was copied.
pub(super) fn copy_record() -> Option<PathBuf> {
    Some(user_folders::state()?.join("copied-program"))
}

/// Whether a program is in a build folder or a cache, which can be emptied at any time, or has its
/// version in its path, as pnpm does it.
pub(super) fn is_in_cache(program: &Path) -> bool {
    let is_cache = |name: &str| ["_npx", ".pnpm", ".cache", "Caches", "Cache"].contains(&name);
    // uv marks each virtual environment as a cache.
    let is_marked = |folder: &Path| {
        folder.join("CACHEDIR.TAG").is_file() && !folder.join("pyvenv.cfg").is_file()
    };
    program
        .components()
        .any(|part| part.as_os_str().to_str().is_some_and(is_cache))
        || program.ancestors().skip(1).any(is_marked)
}

/// Whether pip, outside a virtual environment, has installed this version below this folder.
fn has_python_package(root: &Path) -> bool {
    let package = concat!("prompt_expander-", env!("CARGO_PKG_VERSION"), ".dist-info");
    let mut folders = fs::read_dir(root.join("lib"))
        .into_iter()
        .flatten()
        .flatten();
    folders.any(|python| {
        ["site-packages", "dist-packages"]
            .iter()
            .any(|of| python.path().join(of).join(package).is_dir())
    })
}

/// The command for what `cargo install` has recorded: from the registry, a git repository or a
/// folder.
fn of_cargo(root: &Path) -> Option<String> {
    let installed = whole_file::read_text(&root.join(".crates.toml")).ok()?;
    let source = installed
        .split_once("\"prompt-expander ")?
        .1
        .split(['(', ')'])
        .nth(1)?;
    Some(match source.split_once('+')? {
        ("path", url) => from_checkout(url.trim_start_matches("file://")),
        ("git", url) => format!(
            "cargo install --locked --git {}",
            url.split(['?', '#']).next()?
        ),
        _ => "cargo install --locked prompt-expander".to_owned(),
    })
}

fn checkout(program: &Path) -> Option<&Path> {
    let folder = program
        .ancestors()
        .find(|folder| folder.ends_with("target"))?
        .parent()?;
    folder.join("Cargo.toml").is_file().then_some(folder)
}

fn from_checkout(folder: &str) -> String {
    let folder = shlex::try_quote(folder).unwrap_or_default();
    format!("git -C {folder} pull && cargo install --locked --path {folder}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_and_the_files_beside_it_say_how_a_program_was_installed() {
        let crates = |source: &str| {
            format!("[v1]\n\"x 1.0.0 (y)\" = []\n\"prompt-expander 0.1.0 ({source})\" = []\n")
        };
        let [registry, git, path] = [
            "sparse+https://x/",
            "git+https://h/x?tag=v1#ab",
            "path+file:///a b",
        ]
        .map(crates);
        let dist_info = concat!(
            "../lib/python3.11/site-packages/prompt_expander-",
            env!("CARGO_PKG_VERSION"),
            ".dist-info/RECORD"
        );
        let (cargo, receipt) = ("../.crates.toml", "../share/prompt-expander/installed-by");
        let venv = "../pyvenv.cfg ../CACHEDIR.TAG";
        let [uv, pipx] =
            ["../uv-receipt.toml", "../pipx_metadata.json"].map(|file| format!("{file} {venv}"));
        let [npx, uvx] =
            ["npx -y", "uvx"].map(|run| format!("{run} prompt-expander@latest install --all"));
        for (folder, files, text, name, command) in [
            (
                "lib/node_modules/@prompt-expander/linux-x64/bin",
                "",
                "",
                "npm",
                "npm install -g prompt-expander@latest",
            ),
            (
                ".npm/_npx/1a/node_modules/@prompt-expander/linux-x64/bin",
                "",
                "",
                "npx",
                &npx,
            ),
            (
                ".local/share/uv/tools/prompt-expander/bin",
                &uv,
                "",
                "uv",
                "uv tool upgrade prompt-expander",
            ),
            (".cache/uv/archive-v0/Ab/bin", venv, "", "uvx", &uvx),
            (
                "cache/archive-v0/Ab/bin",
                "../pyvenv.cfg ../../../CACHEDIR.TAG",
                "",
                "uvx",
                &uvx,
            ),
            (
                ".local/share/pipx/venvs/prompt-expander/bin",
                &pipx,
                "",
                "pipx",
                "pipx upgrade prompt-expander",
            ),
            (
                ".local/share/pipx/.cache/1a/bin",
                &pipx,
                "",
                "pipx",
                "pipx run --no-cache prompt-expander install --all",
            ),
            ("venv/bin", venv, "", "pip", PIP),
            (".local/bin", dist_info, "", "pip", PIP),
            (
                ".cargo/bin",
                cargo,
                &registry,
                "cargo",
                "cargo install --locked prompt-expander",
            ),
            (
                ".cargo/bin",
                cargo,
                &git,
                "cargo",
                "cargo install --locked --git https://h/x",
            ),
            (
                ".cargo/bin",
                cargo,
                &path,
                "cargo",
                "git -C '/a b' pull && cargo install --locked --path '/a b'",
            ),
            (
                "usr/bin",
                receipt,
                "Homebrew\nbrew upgrade prompt-expander\n",
                "Homebrew",
                "brew upgrade prompt-expander",
            ),
        ] {
            let home = tempfile::tempdir().unwrap();
            let folder = home.path().join(folder);
            fs::create_dir_all(&folder).unwrap();
            for file in files.split_whitespace().chain(["prompt-expander"]) {
                fs::create_dir_all(folder.join(file).parent().unwrap()).unwrap();
                fs::write(folder.join(file), text).unwrap();
            }
            let want = InstallMethod {
                description: format!("installed with {name}"),
                update: Some(command.to_owned()),
            };
            assert_eq!(
                InstallMethod::of(&folder.join("prompt-expander")),
                want,
                "{}",
                folder.display()
            );
        }
    }

    #[test]
    fn of_a_program_in_a_checkout_the_folder_is_said_and_of_any_other_its_path() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().canonicalize().unwrap();
        let program = folder.join("target/release/prompt-expander");
        fs::create_dir_all(program.parent().unwrap()).unwrap();
        fs::write(&program, "").unwrap();
        let method = InstallMethod::of(&program);
        assert_eq!(
            method,
            InstallMethod {
                description: format!("installed at {}", program.display()),
                update: None
            }
        );
        fs::write(folder.join("Cargo.toml"), "").unwrap();
        let method = InstallMethod::of(&program);
        assert_eq!(method.description, format!("built in {}", folder.display()));
        assert!(method.update.unwrap().starts_with("git -C "));
    }
}
