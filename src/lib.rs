//! A library of Markdown prompt files, and the interfaces to it: an MCP server on stdio and over HTTP, a command line, and the
//! hooks of agents.
//!
//! A user types `:research solid-state batteries` in a chat with a coding agent. The agent calls the tool
//! `expand_prompt`; the tool returns the whole prompt of `research.md` with the text filled in.
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
//! A `tools/call` of `expand_prompt`, from the line that is read to the bytes that are written:
//!
//! | step | functions |
//! |---|---|
//! | read a line or a frame | [`transport::stdio::serve`], `Input::next` |
//! | parse the message | [`jsonrpc::Message::parse`] |
//! | select the method | [`server::Server::handle`], `Server::dispatch` |
//! | view the library, as the caller may see it | [`library::Library::view_for`] |
//! | select the tool | `tools::call`, `expand_prompt::call` |
//! | find the prompt | [`library::View::find`], [`library::View::get`] |
//! | find its file | `Folder::prompt_named` |
//! | read the file, unless it is cached | `FolderCache::get`, `read::read` |
//! | parse the file, with those that it includes | [`prompt::Format::parse_with`], `include::assemble`, `Includes::read` |
//! | divide the input among arguments | [`prompt::Prompt::bind`] |
//! | fill in the placeholders, or render a template | [`prompt::Prompt::expand`], `Renderer::render` |
//! | make the response | `Era::response` |
//! | write it | [`jsonrpc::Outgoing::write`], `Conversation::send` |
//!
//! Over HTTP (`transport/http.rs`, with `serve --http` only), the first two steps and the last are others, in `endpoint.rs`:
//! `origin.rs`, `auth.rs` and `limits.rs` say whether a request is served, `headers.rs` checks what its headers say, `sessions.rs`
//! reads the session's id, and each request has a [`server::Session`] of its own, because nothing of a client is remembered but the
//! streams that it has open (`sse.rs`). Equal requests for a list share one answer (`shared_answers.rs`). A WebSocket (`websocket.rs`)
//! is one conversation, like a pipe. `tls.rs` is below all that, and `proxy.rs` says who the client is. `exchange.rs` names each
//! request, and records it and its response. `health.rs` and `metrics.rs` are for those who operate the server. `page.rs` is the web
//! page, which shows [`report`]s as HTML; `api.rs` has them as JSON for [`remote`], which is the client.
//!
//! `CONTRIBUTING.md` names the file of each. The other methods are in files next to `server/tools.rs`: `prompts.rs` and
//! `resources.rs` for the menus of clients, `completion.rs`, `editing_methods.rs`, and `lifecycle.rs` for the protocol versions.
//!
//! The command line ([`cli`]) and the hook ([`hook`]), which expands the commands of a message before the model sees it, use
//! the same [`library`] and the same [`prompt`], without the protocol. [`report`] is what `list`, `show`, `expand` and `explain` print,
//! as data. [`agents`] has all facts about each agent, and how the program is registered with it; [`doctor`] finds out why that does not
//! work.
//!
//! `prompt/conversion.rs` converts prompts for the commands `import` and `export`: [`prompt::import`] to a Markdown file, with
//! `prompt/format/markdown_writer.rs`, and [`prompt::export`] to a file of another system.
//!
//! # The path of a remote prompt
//!
//! `library/openapi.rs` is a source like a folder: `openapi/document.rs` reads operations of OpenAPI documents as prompts without a
//! text. [`library::View::expand`] of one makes a request (`openapi/request.rs`), sends it to the service (`openapi/send.rs`) and
//! reads messages from the answer (`openapi/answer.rs`). Over HTTP, at most 64 calls to services run at once, on threads of their own.
//!
//! # The path of a change
//!
//! [`library::Watch`] advances a generation, [`library::Changes`], when files may have changed. That wakes the notifier
//! (`server/notifier.rs`), which takes a [`library::Snapshot`] and passes a [`server::Change`] to each
//! [`server::Listener`]. The conversation's [`server::Session`] selects the notifications.
//!
//! # The path of an edit
//!
//! A client that may edit prompts (`server/editing.rs`; over HTTP also `api/editing_routes.rs`) gets a [`library::Editor`], which checks
//! the name, the caller's prefix and that the text is a prompt. Parts of a file are changed by [`prompt::edit`], which leaves every other
//! byte. `library/folder_writer.rs` writes: it takes the lock of the folder, compares the file with the revision that the client expects,
//! adds the new version to the history (`library/history.rs`) and replaces the file. A crash at any point leaves the old file or the new
//! one, and no version is lost.
//!
//! # What holds everywhere
//!
//! - [`prompt`] is pure: text in, values out. It opens no file, reads no environment and knows no protocol.
//! - Prompt files and their test files are opened in one place, `library/read.rs`, and created, replaced, renamed or deleted in
//!   one, `library/write.rs`; those that clients edit, and their versions, in `library/folder_writer.rs` and `library/history.rs`.
//!   `library/walk.rs` scans folders; `library/watch.rs` is the only file that knows how the system reports changes.
//! - A name from a client becomes a path in one function, `Folder::resolve` in `library/folder.rs`, segment by segment. A project's
//!   prompts (`library/project.rs`) are served only on request, and no symlink in them may point outside. The path of an included file is
//!   another matter: `library/include.rs` reads it only if it is in the folder after all symlinks are resolved.
//! - The program writes only files that its user named, prompts for callers who may edit them, and agents' configs after asking:
//!   `agents/config_file.rs` reads and writes these, and `agents/edit.rs` is text in, text out.
//! - A file that cannot be a prompt is data, a [`library::Problem`], and affects no other file.
//! - Each answer shows what is on disk, whether the watch has noticed a change or not. A parsed file is cached with a stamp,
//!   which is compared at each request (`library/cache.rs`).
//! - A [`server::Server`] is shared by all conversations. A [`server::Session`] is one of them: its protocol version, its
//!   subscriptions, a hash of each list that its client was shown, and the revision of each prompt that a client has seen that may edit
//!   prompts.
//! - A message that only reads is handled with one [`library::View`]; an edit looks again after it has written.
//! - Requests on stdio are answered one after the other, in the order of their arrival; over HTTP all at once, those that scan folders
//!   on a few threads ([`server::Server::work`]). The notifier has a thread of its own, which starts
//!   when a client first needs notifications, over HTTP with the server; before that, nothing is watched.
//! - Everything that comes from outside has a limit, and exceeding it is an error that says so: lines and their values (`jsonrpc`), files
//!   and expansions ([`prompt::MAX_FILE`] and the others there), folders ([`library::MAX_ENTRIES`]).
//! - Only four places start other programs: [`doctor`] those that an agent's config names, as that agent would;
//!   `cli/text_editor.rs` the user's editor; `cli/output/pager.rs` the user's pager; and `cli/clipboard.rs` the system's command for the
//!   clipboard.
//! - Only two places connect to anything: [`remote`] to the URL that the user named; `library/openapi/send.rs` to the service of a
//!   document that the user named, at addresses that `library/openapi/address.rs` allows.
//! - Standard output carries the protocol or the result of a command, nothing else.
//!
//! # Dependencies between modules
//!
//! They point in one direction:
//!
//! | module | may use |
//! |---|---|
//! | [`prompt`], [`agents`], [`jsonrpc`] | none of the others |
//! | [`mcp`] | [`jsonrpc`] |
//! | [`library`] | [`prompt`] |
//! | [`server`] | [`library`], [`prompt`], [`agents`], [`mcp`], [`jsonrpc`] |
//! | [`hook`] | [`agents`], [`library`], [`prompt`] |
//! | [`report`] | [`hook`], [`agents`], [`library`], [`prompt`] |
//! | [`remote`] | [`report`], [`agents`] |
//! | [`doctor`] | [`agents`], [`library`], [`prompt`], [`remote`] |
//! | [`transport`] | [`server`], [`report`], [`hook`], [`agents`], [`library`], [`prompt`], [`jsonrpc`] |
//! | [`cli`] | all but [`mcp`] and [`jsonrpc`] |
//!
//! All may use [`wording`], which words messages. `tests/it/tidy.rs` checks it.
//!
//! `CONTRIBUTING.md` says why the code is as it is, and how to add a method, a tool, a command, an agent, a format or a source.

pub mod prompt;

pub mod library;

pub mod jsonrpc;
mod mcp;

pub mod server;

pub mod transport;

pub mod agents;

pub mod hook;

pub mod report;

#[cfg(feature = "http")]
pub mod remote;

pub mod doctor;

pub mod cli;

mod wording;
