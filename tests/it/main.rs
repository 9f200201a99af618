//! The real program over real pipes: one test binary, one module for each capability.
//!
//! [`client`] is the harness, and says how a test is written. `UPDATE=1 cargo test` rewrites the
//! golden files; look at the difference before you commit it. [`properties`] alone calls the
//! library, many times in one process.

#![allow(clippy::unwrap_used)] // a test that cannot go on has failed
#![allow(clippy::too_many_lines)] // tables of cases are long

#[cfg(all(unix, feature = "http"))]
mod a_wait_for_time_limits;
#[cfg(all(unix, feature = "http"))]
mod access;
#[cfg(all(unix, feature = "http"))]
mod api;
#[cfg(unix)]
mod attachments;
mod cases;
#[cfg(any(feature = "http", feature = "openapi"))]
mod certificates;
mod changes;
mod check;
mod client;
mod command_line;
mod completion;
mod completions;
mod config;
#[cfg(unix)]
mod confined;
mod doctor;
#[cfg(all(unix, feature = "http"))]
mod edit;
mod expand;
mod expand_prompt;
mod explain;
#[cfg(unix)]
mod faults;
#[cfg(unix)]
mod fresh;
mod history;
mod hook;
#[cfg(all(unix, feature = "http"))]
mod http;
#[cfg(all(unix, feature = "http"))]
mod http_bounds;
#[cfg(all(unix, feature = "http"))]
mod http_client;
#[cfg(any(feature = "http", feature = "openapi"))]
mod http_service;
mod import;
mod includes;
#[cfg(unix)]
mod install;
mod jinja;
mod jobs;
#[cfg(target_os = "linux")]
mod kills;
mod lifecycle;
mod limits;
mod list_prompts;
mod man;
mod messages;
mod native_prompts;
mod new;
#[cfg(any(feature = "http", feature = "openapi"))]
#[cfg(all(target_os = "linux", feature = "http"))]
mod nightly;
#[cfg(all(unix, feature = "openapi", feature = "http"))]
mod openapi;
#[cfg(feature = "openapi")]
mod openapi_call;
mod opencode;
#[cfg(target_os = "linux")]
mod opened;
#[cfg(all(unix, feature = "http"))]
mod operating;
mod other_programs;
#[cfg(target_os = "linux")]
mod pack;
mod packaging;
#[cfg(all(unix, feature = "http"))]
mod page;
mod parts;
mod path_and_show;
#[cfg(target_os = "linux")]
mod pick;
mod plain;
#[cfg(all(unix, feature = "http"))]
mod postgres;
mod project;
mod prompts_dir;
mod properties;
#[cfg(all(unix, feature = "http"))]
mod proxy;
#[cfg(all(target_os = "linux", feature = "http", feature = "openapi"))]
mod purge;
mod readme;
mod resources;
mod rm_and_mv;
mod skills;
#[cfg(all(unix, feature = "store"))]
mod store;
#[cfg(all(unix, feature = "store"))]
mod store_access;
#[cfg(all(unix, feature = "store"))]
mod store_sync;
mod sync;
#[cfg(all(unix, feature = "openapi", feature = "http"))]
mod team;
#[cfg(target_os = "linux")]
mod terminal;
mod test;
mod tidy;
#[cfg(all(unix, feature = "http"))]
mod tls;
mod tool_definitions;
mod traffic;
#[cfg(unix)]
mod trust;
#[cfg(target_os = "linux")]
mod usage;
#[cfg(all(
    target_os = "linux",
    feature = "http",
    feature = "openapi",
    feature = "store"
))]
mod visible;
#[cfg(all(unix, feature = "http"))]
mod websocket;
mod wire;
