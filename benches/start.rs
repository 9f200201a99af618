//! How long does it take from the start of the program to its first answer?
//!
//! A client starts the program for every conversation: it is started, answers `initialize`, and
//! expands a prompt. How many files there are must not matter.

mod common;

use common::client::{Client, expand};
use common::prompts::{Prompts, SMALL};
use divan::Bencher;

fn main() {
    divan::main();
}

#[divan::bench(args = [2, 10_000], sample_count = 300, sample_size = 1)]
fn first_expansion(bencher: Bencher<'_, '_>, count: usize) {
    let (prompts, request) = (
        Prompts::generate(count),
        expand(SMALL, "solid-state batteries"),
    );
    bencher.bench_local(|| {
        let mut client = Client::start::<&str>(&[], prompts.path());
        client.initialize();
        client.ask_well(&request);
        // Its end is not timed.
        client
    });
}
