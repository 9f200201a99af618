//! How many system calls and instructions does a request cost? They are counted, not timed, so they
//! are the same on a busy machine, and each has a limit that must hold: this is the bench that CI
//! runs, and it fails where one is passed.
//!
//! The program runs under strace and under valgrind's callgrind, once with few requests and once
//! with more; the difference divided by the number of requests is the cost of one. Callgrind counts
//! what the program does, strace what it asks of the system; neither sees what the system does with
//! it.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "what it has counted is for people"
)]

mod common;

use common::client::{Client, expand, list};
use common::prompts::{Prompts, SMALL, mebibyte};
use serde_json::json;
use std::collections::BTreeMap;
use std::env;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

/// Counts by name.
type Counts = BTreeMap<String, f64>;

#[derive(Clone, Copy)]
enum Tool {
    Strace,
    Callgrind,
}

use Tool::{Callgrind, Strace};

/// A conversation: the handshake, then one line so many times.
struct Conversation<'c> {
    prompts: &'c Prompts,
    /// Whether the client has ended the handshake, so that the folder is watched for it.
    is_watched: bool,
    line: &'c str,
}

/// What was counted, and what it may be at most.
struct Gate {
    what: &'static str,
    tool: Tool,
    counted: Counts,
    limit: f64,
}

/// How often the counts of one input twice as large has.
struct Growth {
    what: &'static str,
    ratio: f64,
}

/// What twice the input may cost: whoever writes it must not be able to make the program busy for
/// long.
const MAX_GROWTH: f64 = 2.3;

impl Tool {
    const fn name(self) -> &'static str {
        match self {
            Strace => "strace",
            Callgrind => "valgrind",
        }
    }

    const fn unit(self) -> &'static str {
        match self {
            Strace => "system calls",
            Callgrind => "instructions",
        }
    }

    /// What to run for more than a number.
    const fn look_further(self) -> &'static str {
        match self {
            Strace => {
                "run the program under `strace -f` with the lines of benches/counted.rs as its input"
            }
            Callgrind => {
                "build with CARGO_PROFILE_RELEASE_STRIP=none CARGO_PROFILE_RELEASE_DEBUG=line-tables-only, run it under \
                 `valgrind --tool=callgrind` with the lines of benches/counted.rs as its input, and see \
                 `callgrind_annotate`"
            }
        }
    }

    fn is_there(self) -> bool {
        let version = Command::new(self.name())
            .arg("--version")
            .stdout(Stdio::null())
            .status();
        version.is_ok_and(|status| status.success())
    }

    /// The command that the program is run with; it writes its counts to this file.
    fn command(self, log: &str) -> Vec<String> {
        let words = match self {
            Strace => format!("strace -f -c -U calls,name -o {log}"),
            Callgrind => {
                format!("valgrind --tool=callgrind --callgrind-out-file=/dev/null --log-file={log}")
            }
        };
        words.split(' ').map(str::to_owned).collect()
    }

    fn counts(self, log: &str) -> Counts {
        let pair = |line: &str| match self {
            Strace => {
                let (calls, name) = line.trim().split_once(' ')?;
                Some((name.trim().to_owned(), calls.parse().ok()?))
            }
            Callgrind => {
                let count = line.split_once("Collected :")?.1;
                Some((self.unit().to_owned(), count.trim().parse().ok()?))
            }
        };
        let counts: Counts = log
            .lines()
            .filter_map(pair)
            .filter(|(name, _)| name != "total")
            .collect();
        assert!(!counts.is_empty(), "nothing is counted in:\n{log}");
        counts
    }
}

impl Conversation<'_> {
    /// What all of it costs with this many requests. News of other files, which a watch looks at,
    /// only adds to it; so it is the least of three times.
    fn total(&self, tool: Tool, requests: usize) -> Counts {
        let times = if self.is_watched { 3 } else { 1 };
        let totals = (0..times).map(|_| self.total_once(tool, requests));
        totals
            .min_by(|a, b| a.values().sum::<f64>().total_cmp(&b.values().sum()))
            .expect("one")
    }

    fn total_once(&self, tool: Tool, requests: usize) -> Counts {
        let folder = tempfile::tempdir().expect("a folder");
        let log = folder.path().join("log");
        let mut client = Client::start(
            &tool.command(log.to_str().expect("UTF-8")),
            self.prompts.path(),
        );
        client.initialize();
        if self.is_watched {
            client.initialized();
        }
        for _ in 0..requests {
            client.ask_well(self.line);
        }
        drop(client);
        tool.counts(&fs::read_to_string(log).expect("counts"))
    }

    /// What a request costs, of those that come after so many others.
    fn each(&self, tool: Tool, after: usize, requests: usize) -> Counts {
        let (fewer, more) = (self.total(tool, after), self.total(tool, after + requests));
        let each = more.into_iter().map(|(name, count)| {
            let each = (count - fewer.get(&name).copied().unwrap_or_default()) / requests as f64;
            (name, each)
        });
        each.collect()
    }
}

/// What a client's hook costs, from start to end, for a prompt that the user submits.
fn hook(tool: Tool, prompts: &Prompts, prompt: &str) -> Counts {
    let event = json!({"hook_event_name": "UserPromptSubmit", "prompt": prompt}).to_string();
    run(tool, prompts.path(), &["hook", "codex"], &event) // as `install` registers it
}

/// What a command costs, from start to end, with these prompts and this standard input. It runs in
/// a temporary folder: resolving the symlinks in a path costs a system call for each folder
/// above it, so the cost must not depend on where the repository is.
fn run(tool: Tool, prompts: &Path, arguments: &[&str], stdin: &str) -> Counts {
    let folder = tempfile::tempdir().expect("a folder");
    let [log, input] = ["log", "input"].map(|name| folder.path().join(name));
    fs::write(&input, stdin).expect("an input");
    let words = tool.command(log.to_str().expect("UTF-8"));
    let mut command = Command::new(&words[0]);
    command
        .args(&words[1..])
        .arg(common::program())
        .args(arguments);
    command
        .current_dir(&folder)
        .env_clear()
        .env("HOME", prompts)
        .env("PROMPT_EXPANDER_PROMPTS", prompts)
        .env("PATH", env::var_os("PATH").unwrap_or_default());
    let status = command
        .stdin(File::open(input).expect("an input"))
        .stdout(Stdio::null())
        .status();
    assert!(
        status.is_ok_and(|status| status.success()),
        "the command ends well"
    );
    tool.counts(&fs::read_to_string(log).expect("counts"))
}

/// A text of some bytes that repeats another.
fn repeated(text: &str, bytes: usize) -> String {
    text.repeat(bytes / text.len())
}

/// A hundred words that may be mentions.
fn mentions() -> String {
    (0..100).map(|number| format!("(:ab{number} ")).collect()
}

/// A text of so many bytes.
type TextOf = fn(usize) -> String;

/// Messages that were slow once.
const MESSAGES: [(&str, TextOf); 7] = [
    ("a word with many colons", |bytes| repeated("(:a", bytes)),
    ("words with many brackets", |bytes| {
        let words = 0..bytes / 1000;
        let words = words.map(|number| format!("x :b{number}{}", repeated("a)", 990)));
        words.collect()
    }),
    ("spaces after a command", |bytes| {
        let spaces = " ".repeat(bytes / 2);
        format!(":{SMALL}{spaces}{}", repeated("(:a ", bytes / 2))
    }),
    ("brackets after mentions", |bytes| {
        format!("x {}{}", mentions(), repeated("[]", bytes))
    }),
    ("an address with colons", |bytes| {
        format!("x http://{}", repeated("(:a", bytes))
    }),
    ("invisible characters before colons", |bytes| {
        format!("{}:a", repeated("\u{feff}", bytes))
    }),
    ("backticks before mentions", |bytes| {
        let lengths = 1..(bytes as f64).sqrt() as usize;
        let code: String = lengths.map(|length| "`".repeat(length) + " ").collect();
        format!("{code}{}{}", repeated("` ", bytes / 2), mentions())
    }),
];

/// What a message of 100 KB may cost, which must end within 50 ms: 175 million instructions took
/// 33 ms as published, and 44 ms as installed, on one of two virtual cores.
const LONG_MESSAGE: f64 = 200_000_000.0;

/// What happens to the costs when an input is twice as long.
fn growths() -> Vec<Growth> {
    let few = Prompts::generate(10);
    let mut growths = Vec::new();
    for (what, message) in MESSAGES {
        let [once, twice] = [50_000, 100_000].map(|bytes| {
            let counts = hook(Callgrind, &few, &message(bytes));
            counts.values().sum::<f64>()
        });
        assert!(twice < LONG_MESSAGE, "{what}: {twice} instructions");
        let ratio = twice / once;
        growths.push(Growth { what, ratio });
    }
    growths.push(growth(
        "keys of a TOML prompt",
        Callgrind,
        [2_000, 4_000],
        toml,
    ));
    growths.push(growth("symlinks in a name", Strace, [14, 28], links));
    growths
}

fn growth(
    what: &'static str,
    tool: Tool,
    sizes: [usize; 2],
    cost: fn(Tool, usize) -> Counts,
) -> Growth {
    let [once, twice] = sizes.map(|size| cost(tool, size).values().sum::<f64>());
    let ratio = twice / once;
    Growth { what, ratio }
}

/// What a list costs of a prompt with this many keys.
fn toml(tool: Tool, keys: usize) -> Counts {
    let folder = tempfile::tempdir().expect("a folder");
    let prompts = folder.path().join(".gemini/commands");
    fs::create_dir_all(&prompts).expect("a folder");
    let keys: String = (0..keys).map(|key| format!("key{key} = 1\n")).collect();
    fs::write(prompts.join("x.toml"), format!("prompt = 'X'\n{keys}")).expect("a prompt");
    run(tool, &prompts, &["list"], "")
}

/// What 50 names cost that lead through this many symlinks, from folder to folder.
fn links(tool: Tool, links: usize) -> Counts {
    let folder = tempfile::tempdir().expect("a folder");
    for number in 0..=links {
        let from = folder.path().join(format!("d{number}"));
        fs::create_dir(&from).expect("a folder");
        std::os::unix::fs::symlink(format!("../d{}", number + 1), from.join("l")).expect("a link");
    }
    let path = "/l".repeat(links);
    let names: String = (0..50)
        .map(|number| format!("see :d0{path}/x{number}\n"))
        .collect();
    let event = json!({"hook_event_name": "UserPromptSubmit", "prompt": names}).to_string();
    run(tool, folder.path(), &["hook", "codex"], &event)
}

/// The counts divided, as for each prompt of a list.
fn shared(counts: Counts, parts: usize) -> Counts {
    counts
        .into_iter()
        .map(|(name, count)| (name, count / parts as f64))
        .collect()
}

impl Gate {
    fn sum(&self) -> f64 {
        self.counted.values().sum()
    }

    fn holds(&self) -> bool {
        // What happens once in twenty requests is not of each.
        self.sum() < self.limit + 0.05
    }

    /// Which system calls most of them are, the most frequent first.
    fn calls(&self) -> String {
        let mut calls: Vec<_> = self
            .counted
            .iter()
            .filter(|(_, count)| **count >= 0.05)
            .collect();
        calls.sort_by(|a, b| b.1.total_cmp(a.1));
        match self.tool {
            Strace => calls
                .iter()
                .take(6)
                .map(|(name, count)| format!("{name} {count:.1}"))
                .collect::<Vec<_>>()
                .join(", "),
            Callgrind => String::new(),
        }
    }
}

/// Everything that has a limit.
#[allow(clippy::too_many_lines, reason = "a table")]
fn gates() -> Vec<Gate> {
    let (few, many) = (Prompts::generate(10), Prompts::generate(1000));
    let (small, large, all) = (
        expand(SMALL, "solid-state batteries"),
        expand(SMALL, &mebibyte()),
        list(),
    );
    let unwatched = Conversation {
        prompts: &few,
        is_watched: false,
        line: &small,
    };
    let watched = Conversation {
        is_watched: true,
        ..unwatched
    };
    let pasted = Conversation {
        line: &large,
        ..unwatched
    };
    let listed = Conversation {
        prompts: &many,
        is_watched: false,
        line: &all,
    };
    let typed = format!(":{SMALL} solid-state batteries");
    let long =
        "The parser fails at 10:30, see https://example.com for std::vec. Note: it is slow.\n"
            .repeat(128);
    let mentioned = format!("{long}Do it as in :{SMALL}.\n{long}");
    let gate = |what, tool, counted, limit| Gate {
        what,
        tool,
        counted,
        limit,
    };
    vec![
        // Each limit is about three times the cost when it was set: it catches a change in kind,
        // such as a scan or a parse for each request, and leaves room for other compilers and C
        // libraries. A start, of which the dynamic linker is most, has half as much again: that
        // still catches a scan of the prompts, and nobody feels what is below it.
        gate(
            "expand a small prompt",
            Strace,
            unwatched.each(Strace, 100, 500),
            15.0,
        ),
        gate(
            "expand a small prompt, watched",
            Strace,
            watched.each(Strace, 100, 500),
            15.0,
        ),
        gate(
            "list 1,000 prompts again",
            Strace,
            listed.each(Strace, 3, 10),
            (3 * (1000 + many.folders + 10)) as f64,
        ),
        gate(
            "start, initialize, end",
            Strace,
            unwatched.total(Strace, 0),
            198.0,
        ),
        gate(
            "start, initialize, end",
            Callgrind,
            unwatched.total(Callgrind, 0),
            1_000_000.0,
        ),
        gate(
            "expand a small prompt",
            Callgrind,
            unwatched.each(Callgrind, 40, 200),
            42_000.0,
        ),
        gate(
            "expand with 1 MiB of input",
            Callgrind,
            pasted.each(Callgrind, 2, 4),
            120e6,
        ),
        gate(
            "first list of 1,000, each prompt",
            Callgrind,
            shared(listed.each(Callgrind, 0, 1), 1000),
            330_000.0,
        ),
        gate(
            "list 1,000 again, each prompt",
            Callgrind,
            shared(listed.each(Callgrind, 1, 5), 1000),
            6_700.0,
        ),
        gate(
            "hook, a prompt without a command",
            Callgrind,
            hook(Callgrind, &many, "at 10:30"),
            1_230_000.0,
        ),
        gate(
            "hook, 20 KB without a command",
            Callgrind,
            hook(Callgrind, &many, &long.repeat(2)),
            1_750_000.0,
        ),
        gate(
            "hook, a mention in 20 KB",
            Callgrind,
            hook(Callgrind, &many, &mentioned),
            2_050_000.0,
        ),
        gate(
            "hook, a command among 1,000",
            Callgrind,
            hook(Callgrind, &many, &typed),
            1_500_000.0,
        ),
        gate(
            "hook, a command among 1,000",
            Strace,
            hook(Strace, &many, &typed),
            210.0,
        ),
    ]
}

fn main() -> ExitCode {
    let missing: Vec<&str> = [Strace, Callgrind]
        .into_iter()
        .filter(|tool| !tool.is_there())
        .map(Tool::name)
        .collect();
    if !missing.is_empty() {
        eprintln!(
            "error: {} cannot be run; this bench needs Linux, and both of `apt-get install valgrind strace`",
            missing.join(" and ")
        );
        return ExitCode::FAILURE;
    }
    let gates = gates();
    println!("{:<34} {:>12} {:>12}", "", "counted", "limit");
    for gate in &gates {
        let (what, unit) = (gate.what, gate.tool.unit());
        // Fractions of an instruction are of no interest.
        let decimals = if gate.sum() < 100.0 { 1 } else { 0 };
        println!(
            "{what:<34} {:>12.decimals$} {:>12} {unit}  {}",
            gate.sum(),
            gate.limit,
            gate.calls()
        );
    }
    let growths = growths();
    for Growth { what, ratio } in &growths {
        println!("twice: {what:<27} {ratio:>12.2} {MAX_GROWTH:>12} times");
    }
    let failed: Vec<&Gate> = gates.iter().filter(|gate| !gate.holds()).collect();
    for gate in &failed {
        let (what, unit, limit) = (gate.what, gate.tool.unit(), gate.limit);
        eprintln!(
            "error: {what}: {:.1} {unit}, the limit is {limit}; {}",
            gate.sum(),
            gate.tool.look_further()
        );
    }
    let steep = growths.iter().filter(|growth| growth.ratio > MAX_GROWTH);
    let steep: Vec<&str> = steep.map(|growth| growth.what).collect();
    for what in &steep {
        eprintln!("error: twice {what} cost more than {MAX_GROWTH} times as much");
    }
    if failed.is_empty() && steep.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
