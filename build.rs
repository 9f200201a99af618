//! Links the program statically with glibc, where that works.
//!
//! A client starts the program for every conversation, and half of a start is the dynamic linker's: 285,000 instructions and
//! 62 system calls for an empty Rust program, 101,000 and 33 for the same linked statically. Rust's own switch for it
//! (`-C target-feature=+crt-static`) cannot be given in a plain `cargo build` or `cargo install`: without `--target` it would
//! reach the procedural macros, which must be dynamic. What it does is to link other libraries, and that can be asked for
//! here: rustc looks for `-lc`, `-lgcc_s` and so on in a folder of ours first, which has the static libraries under these
//! names.
//!
//! A small program is linked so and run first. Where that fails (there is no `libc.a`, the linker is another one), nothing is
//! asked for, and the program is linked as always.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

/// Asks for the dynamic libraries, whatever works; for packagers.
const DYNAMIC: &str = "PROMPT_EXPANDER_DYNAMIC";

/// What rustc names for this target, and the static library for it.
const LIBRARIES: [(&str, &str); 7] = [
    ("libc.a", "libc.a"),
    ("libgcc_s.a", "libgcc_eh.a"),
    ("libm.a", "libm.a"),
    ("libpthread.a", "libpthread.a"),
    ("libdl.a", "libdl.a"),
    ("librt.a", "librt.a"),
    ("libutil.a", "libutil.a"),
];

const ARGUMENTS: [&str; 7] = [
    "-static-pie",
    // The libraries need each other; rustc names each only once.
    "-Wl,--start-group",
    "-lgcc_s",
    "-lgcc",
    "-lc",
    "-Wl,--end-group",
    // Ten thousand addresses are corrected at each start; in this form that takes 40 % of the instructions.
    "-Wl,-z,pack-relative-relocs",
];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed={DYNAMIC}");
    let is = |variable: &str, wanted: &str| env::var(variable).is_ok_and(|value| value == wanted);
    let is_static = env::var("CARGO_CFG_TARGET_FEATURE").is_ok_and(|features| features.contains("crt-static"));
    let is_wanted = env::var_os(DYNAMIC).is_none() && !is_static;
    let is_glibc = is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu");
    let is_native = env::var("HOST") == env::var("TARGET");
    let Ok(out) = env::var("OUT_DIR").map(PathBuf::from) else { return };
    if !(is_wanted && is_glibc && is_native) {
        return;
    }
    let folder = out.join("static");
    if collect(&folder).is_ok() && works(&folder) {
        // Not as a link search, which tests would get too.
        for argument in arguments(&folder) {
            println!("cargo::rustc-link-arg-bins={argument}");
        }
    }
}

fn arguments(folder: &Path) -> impl Iterator<Item = String> {
    std::iter::once(format!("-L{}", folder.display())).chain(ARGUMENTS.map(str::to_owned))
}

fn linker() -> String {
    env::var("RUSTC_LINKER").unwrap_or_else(|_| "cc".to_owned())
}

/// Fills a folder with the static libraries.
fn collect(folder: &Path) -> io::Result<()> {
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder)?;
    for (name, library) in LIBRARIES {
        let found = Command::new(linker()).arg(format!("-print-file-name={library}")).output()?;
        let path = PathBuf::from(String::from_utf8_lossy(&found.stdout).trim());
        if path.is_absolute() {
            fs::copy(path, folder.join(name))?;
        }
    }
    Ok(())
}

/// Whether a program that is linked so catches a panic, starts a thread and ends well.
fn works(folder: &Path) -> bool {
    const PROGRAM: &str = "fn main() {
        std::panic::set_hook(Box::new(|_| {}));
        let caught = std::panic::catch_unwind(|| panic!()).is_err();
        std::process::exit(if caught && std::thread::spawn(|| true).join().unwrap() { 0 } else { 1 });
    }";
    let (source, program) = (folder.join("trial.rs"), folder.join("trial"));
    let Ok(rustc) = env::var("RUSTC") else { return false };
    let mut command = Command::new(rustc);
    command.arg(&source).arg("-o").arg(&program).arg("-C").arg(format!("linker={}", linker()));
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    command.args(flags.split('\x1f').filter(|flag| !flag.is_empty()));
    command.args(arguments(folder).flat_map(|argument| ["-C".to_owned(), format!("link-arg={argument}")]));
    fs::write(&source, PROGRAM).is_ok()
        && command.output().is_ok_and(|linked| linked.status.success())
        && Command::new(&program).status().is_ok_and(|ended| ended.success())
}
