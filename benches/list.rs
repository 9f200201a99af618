//! How long does `list_prompts` take: the first of a process, which reads every file, and another
//! one with nothing changed, which looks whether that is so?
//!
//! In memory, from the line of the request to the line of the answer: what the pipe adds is the
//! system's time (the list of 10,000 prompts is 2 MB), and would hide what this program does. A
//! server that is new knows as little as a process that is.

mod common;

use common::client::list;
use common::prompts::Prompts;
use divan::Bencher;
use divan::counter::ItemsCount;
use prompt_expander::jsonrpc::Message;
use prompt_expander::library::{Caller, Library};
use prompt_expander::prompt::Format;
use prompt_expander::server::{Reply, Server, Session, Settings};
use std::sync::Arc;

const COUNTS: [usize; 3] = [10, 1_000, 10_000];

fn main() {
    divan::main();
}

fn server(prompts: &Prompts, system: &'static Format) -> Server {
    Server::new(
        Arc::new(Library::default().with_named(Some(system), prompts.path().to_owned())),
        Settings::default(),
    )
}

/// Answers a line; gives the length of the answer.
fn answer(server: &Server, line: &str, output: &mut Vec<u8>) -> usize {
    output.clear();
    let message = Message::parse(line.trim_end().as_bytes()).expect("a message");
    let Reply::Response(response) = server.handle(&mut Session::new(Caller::local()), message)
    else {
        panic!("no response")
    };
    output.extend_from_slice(response.as_json().as_bytes());
    output.len()
}

#[divan::bench(args = COUNTS)]
fn first(bencher: Bencher<'_, '_>, count: usize) {
    first_of(bencher, count, &Prompts::generate(count), Format::OWN);
}

/// The same texts as skills: a folder for each, which is read to find its file.
#[divan::bench(args = [1_000])]
fn first_of_skills(bencher: Bencher<'_, '_>, count: usize) {
    first_of(
        bencher,
        count,
        &Prompts::skills(count),
        Format::for_folder(".claude/skills".as_ref()),
    );
}

fn first_of(bencher: Bencher<'_, '_>, count: usize, prompts: &Prompts, system: &'static Format) {
    let line = list();
    let bencher = bencher.counter(ItemsCount::new(count));
    bencher
        .with_inputs(|| (server(prompts, system), Vec::new()))
        .bench_local_values(|(server, mut output)| {
            answer(&server, &line, &mut output);
            (server, output)
        });
}

#[divan::bench(args = COUNTS)]
fn again(bencher: Bencher<'_, '_>, count: usize) {
    let (prompts, line) = (Prompts::generate(count), list());
    let (server, mut output) = (server(&prompts, Format::OWN), Vec::new());
    answer(&server, &line, &mut output);
    bencher
        .counter(ItemsCount::new(count))
        .bench_local(|| answer(&server, &line, &mut output));
}
