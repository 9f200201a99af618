//! A library of Markdown prompt files, and two ways into it: an MCP server on stdio and a command line.
//!
//! Somebody types `:research solid-state batteries` in a chat with a coding agent. The agent calls the tool
//! `expand_prompt`; the tool returns the whole prompt of `research.md` with the text put in its place.
//!
//! ```
//! use prompt_expander::prompt::Prompt;
//!
//! let prompt = Prompt::parse("research", b"---\ntitle: Research\n---\nTopic:\n{{input}}\n").unwrap();
//! assert_eq!(prompt.expand("solid-state batteries").unwrap(), "Topic:\nsolid-state batteries");
//! ```
//!
//! # The path of a request
//!
//! It is one-way, and each step is one function in one file:
//!
//! | step | function |
//! |---|---|
//! | line in | [`transport::stdio::serve`] |
//! | message | [`jsonrpc::Message::parse`] |
//! | dispatch | [`server::Server::handle`] |
//! | tool | `expand_prompt::call` in `server/tools/` |
//! | library | [`library::Library::find`] |
//! | prompt | [`prompt::Prompt::parse`], [`prompt::Prompt::expand`] |
//! | template | [`prompt::Template::expand`] |
//! | result | `tools::call` in `server/tools.rs` |
//! | line out | [`jsonrpc::Response::write`] |
//!
//! The command line ([`cli`]) enters at the library and leaves with the template.
//!
//! # What holds everywhere
//!
//! - [`prompt`] is text in, values out: it opens no file, reads no environment and knows no protocol. Only
//!   `library/dir.rs` touches the file system.
//! - A file that cannot be a prompt is data, a [`library::Problem`]; it takes nothing else down.
//! - Nothing is kept between two requests but the revision that `initialize` settled: what is on disk is what is
//!   served.
//! - A name that a client sends becomes a path in one function, `Dir::locate`, segment by segment.
//! - Standard output carries protocol or a command's result, nothing else.
//! - Dependencies point one way: `prompt`, `jsonrpc` and `mcp` name no other module; `library` names `prompt`;
//!   `server` names those four; `transport` names `server` and `jsonrpc`; `cli` names all but the protocol's types.
//!   All may name `wording` and `suggestion`, which word messages. A test (`tests/it/tidy.rs`) reads the code for it.
//!
//! # Where the next things go
//!
//! Several arguments from one input: `prompt/arguments.rs`. `prompts/*` and `resources/*`: one file each below
//! `server/`, and an arm of the table in `Server::dispatch`. A cache: inside `library/dir.rs`, behind the same three
//! functions.

pub mod prompt;

pub mod library;

pub mod jsonrpc;
mod mcp;

pub mod server;

pub mod transport;

pub mod cli;

mod suggestion;
mod wording;
