//! How long does a request take in a long conversation, as its client sees it?
//!
//! The real program answers over pipes. It has been asked before and watches its folder, as in the
//! middle of a day's work. One at a time, a request pays for both switches between the two
//! processes; pipelined, it is what the program does that counts.

mod common;

use common::client::{Client, expand};
use common::prompts::{LARGE, LONG, Prompts, SMALL, mebibyte};
use divan::Bencher;
use divan::counter::{BytesCount, ItemsCount};

/// How many requests are written at once: as many as a pipe holds.
const PIPELINED: usize = 200;

fn main() {
    divan::main();
}

/// A client in the middle of a conversation.
fn warm(prompts: &Prompts, request: &str) -> Client {
    let mut client = Client::start::<&str>(&[], prompts.path());
    client.initialize();
    client.initialized();
    client.ask_well(request);
    client
}

#[divan::bench(args = [SMALL, LONG])]
fn one_at_a_time(bencher: Bencher<'_, '_>, name: &str) {
    let (prompts, request) = (Prompts::generate(10), expand(name, "solid-state batteries"));
    let mut client = warm(&prompts, &request);
    bencher
        .counter(ItemsCount::new(1_usize))
        .bench_local(|| client.ask(&request, 1).len());
}

#[divan::bench(args = [SMALL, LONG])]
fn pipelined(bencher: Bencher<'_, '_>, name: &str) {
    let (prompts, request) = (Prompts::generate(10), expand(name, "solid-state batteries"));
    let mut client = warm(&prompts, &request);
    let requests = request.repeat(PIPELINED);
    bencher
        .counter(ItemsCount::new(PIPELINED))
        .bench_local(|| client.ask(&requests, PIPELINED).len());
}

#[divan::bench(name = "input_of_1_MiB")]
fn large_input(bencher: Bencher<'_, '_>) {
    let (prompts, request) = (Prompts::generate(10), expand(SMALL, &mebibyte()));
    let mut client = warm(&prompts, &request);
    bencher
        .counter(BytesCount::new(LARGE))
        .bench_local(|| client.ask(&request, 1).len());
}
