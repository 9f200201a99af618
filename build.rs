//! Links the program statically with glibc, where that works, and with the code that serving does not run behind the rest.
//!
//! A client starts the program for every conversation, and half of a start is the dynamic linker's: 285,000 instructions and
//! 62 system calls for an empty Rust program, 101,000 and 33 for the same linked statically. Rust's own switch for it
//! (`-C target-feature=+crt-static`) cannot be given in a plain `cargo build` or `cargo install`: without `--target` it would
//! reach the procedural macros, which must be dynamic. What it does is to link other libraries, and that can be asked for
//! here: rustc looks for `-lc`, `-lgcc_s` and so on in a folder of ours first, which has the static libraries under these
//! names.
//!
//! The system maps a program in pieces of 64 KiB, as they are first run. Code of the command line, of panics and of YAML lies
//! between that of the server if nobody minds, and every piece is mapped: 0.4 MB of 3 MB (`benches/README.md`).
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

/// The linker script, in the folder of the libraries.
const SCRIPT: &str = "seldom.ld";

/// Code that a server does not run, or once in a long while: sections of functions, as the linker calls them, by the path of
/// the function in either of the compiler's spellings. What is missing here costs memory and nothing else.
const SELDOM: [&str; 8] = [
    // Commands: `cli`, but for what serves, and what is theirs alone. (`tests/it/tidy.rs` knows the files.)
    "*prompt_expander3cli4call* *prompt_expander3cli4edit* *prompt_expander3cli4hook* *prompt_expander3cli4list* \
     *prompt_expander3cli3man* *prompt_expander3cli3new* *prompt_expander3cli5check* *prompt_expander3cli6client* *prompt_expander3cli6doctor* \
     *prompt_expander3cli6editor* *prompt_expander3cli6expand* *prompt_expander3cli6record* *prompt_expander3cli7explain* *prompt_expander3cli7install* \
     *prompt_expander3cli5stdin* *prompt_expander3cli11completions* *prompt_expander..cli..* \
     *prompt_expander4hook* *prompt_expander..hook* *prompt_expander6client* *prompt_expander..client* \
     *prompt_expander6doctor* *prompt_expander..doctor* *prompt_expander7library4edit* \
     *3std3sys7process* *3std7process*",
    "*clap_builder* *clap_complete* *clap_lex* *anstream* *anstyle* *unicode_width*",
    "*textwrap* *diffy* *tempfile* *shlex* *signal_hook* *is_executable*",
    // Clients' configs.
    "*toml_edit* *toml_parser* *toml_datetime* *winnow* *indexmap* *jsonc_parser*",
    // A frontmatter that needs a YAML parser, a search, the times of files, completions, warnings.
    "*yaml_rust2* *frontmatter4yaml* *nucleo_matcher* *unicase* *jiff* *prompt_expander6server10completion* \
     *prompt_expander6prompt4lint*",
    // Long lists in order, numbers with fractions, JSON as a tree of copies.
    "*core5slice4sort* *core3num7flt2dec* *core3num7dec2flt* *10serde_json5value* *..serde_json..value*",
    // A log, if it is asked for.
    "*tracing_subscriber* *sharded_slab*",
    // What a panic prints. Of functions that are the same in other crates, one stands for all, so whole names are asked for.
    "*12backtrace_rs9symbolize* *4cell4once*9addr2line* \
     _R*NtCs*5gimli[0-9]* _R*Cs*9addr2line[0-9]* _R*_14rustc_demangle[0-9]* _R*miniz_oxide[0-9]*",
];

/// The same of glibc, by its files: numbers and character sets, wide strings, names of hosts and users, messages in other
/// languages, libraries that are loaded later, functions for other processors.
const SELDOM_IN_LIBC: &str = "*printf* strtof* strtod_l strtold_l gconv* wcs*-* wmem*-* wfileops wgenops res_* resolv* dns-* \
                              files-* nss* nscd* ifaddrs get*_r dcigettext loadmsgcat loadlocale localealias plural dl-cache \
                              dl-close dl-deps dl-profile dl-version *case_l-* str*cpy-* *-rtm *-sse4_2";

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
    if collect(&folder).is_ok() && fs::write(folder.join(SCRIPT), script()).is_ok() && works(&folder) {
        // Not as a link search, which tests would get too.
        for argument in arguments(&folder) {
            println!("cargo::rustc-link-arg-bins={argument}");
        }
    }
}

fn arguments(folder: &Path) -> impl Iterator<Item = String> {
    let places = [format!("-L{}", folder.display()), format!("-Wl,-T,{}", folder.join(SCRIPT).display())];
    places.into_iter().chain(ARGUMENTS.map(str::to_owned))
}

/// A linker script that adds to the linker's own one: what is seldom run, each group together.
fn script() -> String {
    let functions =
        SELDOM.iter().map(|names| names.split(' ').map(|name| format!(".text.{name} ")).collect::<String>());
    let functions = functions.map(|names| format!("*({names})\n"));
    let files = SELDOM_IN_LIBC.split(' ').map(|file| format!("*libc.a:{file}.o(.text .text.*)\n"));
    let groups: String = functions.chain(files).collect();
    format!("SECTIONS {{ .text.seldom : {{\n{groups}}} }}\nINSERT AFTER .text;\n")
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
