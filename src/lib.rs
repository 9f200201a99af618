//! A library of Markdown prompt files, and the interfaces to it: an MCP server on stdio and over
//! HTTP, a command line, and the hooks of agents.
//!
//! A user types `:research solid-state batteries` in a chat with a coding agent. The agent calls
//! the tool `expand_prompt`; the tool returns the whole prompt of `research.md` with the text
//! filled in.
//!
//! `CONTRIBUTING.md` follows a request through the files, says why the code is as it is, and how to
//! add to it.
//!
//! # The modules
//!
//! Each may use only those above it, and `tests/it/tidy.rs` checks it:
//!
//! | module | what it does | what it never does |
//! |---|---|---|
//! | `wording` | quotes, counts and joins words in messages | |
//! | `input` | reads text and JSON, and repairs mistakes of the programs that wrote it | |
//! | `lock` | locks data that a panic cannot leave half changed | |
//! | `whole_file` | reads and writes files as a whole | follow a symlink, unless its caller asks it to |
//! | [`prompt`] | turns a text into a prompt, and a prompt and a call into messages | I/O; it knows no clock, environment or protocol |
//! | [`jsonrpc`] | messages of JSON-RPC | |
//! | [`agents`] | knows all facts about each agent, and changes its config as a plan that is shown first | |
//! | `mcp` | the types of the protocol | |
//! | [`library`] | finds, reads, watches and writes prompts; a [`library::View`] is the library as one caller sees it | know where prompts come from |
//! | [`sources`] | has the sources of prompts: projects, packs, plugins, services, databases, teams | |
//! | [`hook`] | adds the text of prompts to a submitted message | wait for a network |
//! | [`api`] | the JSON objects that the page and `--json` share | |
//! | [`doctor`] | finds out why an agent does not get its prompts | |
//! | [`server`] | answers messages of the protocol | move bytes, or wait: what waits is a job |
//! | [`transport`] | moves messages: stdio, HTTP, WebSocket; and serves the API and the page | decide what an answer says |
//! | [`cli`] | options, settings, commands | |
//!
//! # What holds everywhere
//!
//! - Each answer shows what is on disk. What is kept of a file has a trace, which is compared at
//!   each use (`library/disk/cache.rs`); no event of the file system decides what is served.
//! - The prompts that are served are read in `library/disk/open.rs` alone, and a name from a client
//!   becomes a path in `library/disk/root.rs` alone. Other code opens a prompt file only to write
//!   it (`library/write/single_file.rs`), and for a command that names it (`import`, `store`). A
//!   project's prompts are served only if the user trusts it, and no symlink in them may point
//!   outside.
//! - Every file that the program creates or replaces is written by `whole_file.rs`, which says what
//!   holds for its owner, its mode, and after a crash.
//! - The program writes only files that its user named, prompts for callers who may edit them,
//!   agents' configs after asking, and its own files in the user's folders for data, caches and
//!   state.
//! - A broken file is data, a [`prompt::Diagnostic`], and affects no other file. Code reads the
//!   kind of a diagnostic, people its message.
//! - Everything that comes from outside has a limit, and exceeding it is an error that says so.
//! - Only five places start other programs: [`doctor`] those that an agent's config names, as that
//!   agent would; `cli/text_editor.rs` the user's editor; `cli/pager.rs` their pager;
//!   `cli/clipboard.rs` the system's command for the clipboard; and `sources/pack/run.rs` git, only
//!   for the commands `pack` and `store`.
//! - Only two files connect to anything: `sources/openapi/send.rs` to the service of a document
//!   that the user named, at addresses that `sources/openapi/address.rs` allows, and for
//!   `sources/team/api_client.rs` to the server of the user's team; and
//!   `sources/postgres/connect.rs` to a database that the user named.
//! - Standard output carries the protocol or the result of a command, nothing else.

#![cfg_attr(test, allow(clippy::too_many_lines))] // tables of cases are long

pub mod prompt;

pub mod library;

pub mod sources;

pub mod jsonrpc;
mod mcp;

pub mod server;

pub mod transport;

pub mod agents;

pub mod hook;

pub mod api;

pub mod doctor;

pub mod cli;

mod lock;

mod whole_file;

mod input;

mod wording;
