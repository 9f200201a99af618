//! A library of Markdown prompt files, and the ways into it: an MCP server on stdio, a command line, and agents' hooks.
//!
//! Somebody types `:research solid-state batteries` in a chat with a coding agent. The agent calls the tool
//! `expand_prompt`; the tool returns the whole prompt of `research.md` with the text put in its place.
//!
//! ```
//! use prompt_expander::prompt::{Call, Format, Name};
//!
//! let name = Name::new("research").unwrap();
//! let prompt = Format::Markdown.parse(name, b"---\ntitle: Research\n---\nTopic:\n{{input}}\n").unwrap();
//! assert_eq!(prompt.expand(Call::Text("solid-state batteries")).unwrap().into_text(), "Topic:\nsolid-state batteries");
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
//! | tool | `tools::call`, `expand_prompt::call` in `server/tools/` |
//! | library | [`library::View::find`] |
//! | prompt | [`prompt::Format::parse`] |
//! | expansion | [`prompt::Prompt::bind`], [`prompt::Prompt::expand`] |
//! | result | `Era::response` in `server/lifecycle.rs` |
//! | line out | [`jsonrpc::Outgoing::write`] |
//!
//! The other methods are files beside `tools.rs`: `prompts/*` and `resources/*` as the clients' own menus show them,
//! `completion/complete`, and who is told of changes (`news.rs`, `subscriptions.rs`). The command line ([`cli`]) enters at the
//! library and leaves with the template. So does an agent's hook ([`hook`]), which expands the commands of a message before the
//! model sees it. How the program is registered with an agent is in [`agents`]; [`doctor`] finds out what keeps that from
//! working.
//!
//! News goes the same way: [`library::Watch`] wakes the loop ([`transport::stdio::Event`]), and
//! [`server::Server::library_changed`] says who is to be told what.
//!
//! # What holds everywhere
//!
//! - [`prompt`] is text in, values out: it opens no file, reads no environment and knows no protocol. Only
//!   `library/read.rs` reads files of prompts, and `library/write.rs` creates and deletes them; `library/walk.rs`
//!   scans folders, and `library/places.rs` and `library/watch.rs` know where to wait for news of them.
//!   `library/project.rs` knows where the prompts of a project are, which nobody gets who has not asked for them.
//! - The program writes nothing but what its user named, and agents' configs, after it asked: `agents/config_file.rs` reads and
//!   writes them, and `agents/edit.rs` is text in, text out.
//! - A file that cannot be a prompt is data, a [`library::Problem`]; it takes nothing else down.
//! - What is on disk is what is served, whether the watch has seen it or not. What was read of a file is cached under a
//!   stamp that shows its changes (`library/cache.rs`), which is checked at each request.
//! - Besides that, the revision that `initialize` settled is kept, who listens, and what they were last told.
//! - A line of input holds so many values at most, which bounds the tree that is made of it; `expand_prompt` copies a text
//!   into its expansion and nowhere else, and what it answers is written while it is made.
//! - Requests are answered one after the other, in one thread. The watch has a thread of its own, from when somebody wants to hear of changes; nothing is scanned
//!   or watched before.
//! - A name that a client sends becomes a path in one function, `Folder::resolve`, segment by segment.
//! - Only `doctor` starts other programs, those that a client's configuration names, as that client would; and
//!   `cli/editor.rs` the user's editor.
//! - Standard output carries protocol or a command's result, nothing else.
//! - Dependencies point one way: `prompt` and `jsonrpc` name no other module; `mcp` names `jsonrpc`;
//!   `library` names `prompt`; `server` names those four; `client` names none of them; `hook` names `prompt`,
//!   `library` and `client`; `doctor` names `prompt`, `library` and `client`; `transport` names `server` and `jsonrpc`;
//!   `cli` names all but the protocol's types.
//!   All may name `wording`, which words messages. A test (`tests/it/tidy.rs`) reads the code for it.
//!
//! # Where the next things go
//!
//! A method: a file below `server/`, and an arm of the table in `Server::dispatch`. A tool: a file below `server/tools/`.
//! A command: a file below `cli/`.

pub mod prompt;

pub mod library;

pub mod jsonrpc;
mod mcp;

pub mod server;

pub mod transport;

pub mod agents;

pub mod hook;

pub mod doctor;

pub mod cli;

mod wording;
