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
//! A module may use only modules in the rows above it. `tests/it/tidy.rs` lists which, and checks
//! it.
//!
//! | module | what it does | what it never does |
//! |---|---|---|
//! | `wording` | quotes, counts and joins words in messages | |
//! | `input` | reads text and JSON from other programs, and repairs common mistakes in them | |
//! | `lock` | locks data that a panic cannot leave half changed | |
//! | `whole_file` | reads, creates and replaces whole files; opens files to append to | |
//! | [`prompt`] | parses prompt files, and expands a prompt with a call into messages | do I/O; it knows no clock, environment or protocol |
//! | [`jsonrpc`] | parses and writes messages of JSON-RPC | |
//! | [`agents`] | knows all facts about each agent, and plans changes of its config | |
//! | `mcp` | defines the types of the protocol | |
//! | [`library`] | finds, reads, watches and writes prompts; a [`library::View`] shows what one caller may see | know which sources there are, except for folders |
//! | [`sources`] | adds sources of prompts: projects, packs, plugins, services, databases, teams | |
//! | [`usage`] | counts how often each prompt is used | know who uses it, or for what |
//! | [`hook`] | adds the text of prompts to a message that the user has submitted | call a service, or wait for long: the team's server has 300 ms |
//! | [`api`] | defines the JSON objects that the page and `--json` share | |
//! | [`menus`] | keeps entries for prompts in agents' own menus | touch a file that it has not written |
//! | [`doctor`] | finds out why an agent does not get its prompts | |
//! | [`server`] | answers messages of the protocol | move bytes, or wait: it returns a job for what waits |
//! | [`transport`] | moves messages over stdio, HTTP and WebSocket; serves the API and the page | decide what an answer says |
//! | [`cli`] | has the commands, their options, and the settings file | |
//!
//! # What holds everywhere
//!
//! - Each answer shows what is on disk now. What is cached of a file has a trace, which is compared
//!   with the file before each use (`library/disk/cache.rs`). Events of the file system never
//!   decide what is served.
//! - Only `library/disk/open.rs` reads the prompts that are served, and only `library/disk/root.rs`
//!   turns a name from a client into a path. Other code opens a prompt file only to write it
//!   (`library/write/single_file.rs`), or for a command that imports or stores files that the user
//!   named.
//! - A project's prompts are served only if the user trusts it, and none of its symlinks may lead
//!   outside of its repository; those in `.prompts` not even outside of that folder.
//! - `whole_file.rs` writes every file that the program creates or replaces. It says what happens
//!   to the owner and the mode of the file, and what a crash leaves.
//! - The program writes only these files: those that the user named, prompt files for callers who
//!   may edit them, agents' configs and menus after the user has confirmed, and its own files in
//!   the user's folders for data, caches and state, such as the counts of uses.
//! - A broken file is data, a [`prompt::Diagnostic`], and affects no other file. Code reads the
//!   kind of a diagnostic; people read its message.
//! - Everything that comes from outside has a limit, and exceeding the limit is an error that says
//!   so. Each limit is a constant next to the code that enforces it.
//! - Only five places start other programs: [`doctor`] starts what an agent's config names, as that
//!   agent would; `cli/text_editor.rs` starts the user's editor, `cli/pager.rs` their pager, and
//!   `cli/clipboard.rs` the system's clipboard command; `sources/pack/run.rs` starts git, only for
//!   the commands `pack` and `store`.
//! - Only two files connect to other machines. `sources/openapi/send.rs` connects to the services
//!   and the team's server that the user named, at addresses that `sources/openapi/address.rs`
//!   allows. `sources/postgres/connect.rs` connects to the user's database.
//! - Standard output carries the protocol or the result of a command, and nothing else.

#![cfg_attr(test, allow(clippy::too_many_lines))] // tables of cases are long

pub mod prompt;

pub mod library;

pub mod sources;

pub mod usage;

pub mod jsonrpc;
mod mcp;

pub mod server;

pub mod transport;

pub mod agents;

pub mod hook;

pub mod api;

pub mod menus;

pub mod doctor;

pub mod cli;

mod lock;

mod whole_file;

mod input;

mod wording;
