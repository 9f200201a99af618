//! How fast is the server over HTTP, how much memory does it take, and how soon does each of many
//! listeners hear of a change?
//!
//! The servers take turns, in an order that changes from round to round, and each ratio is the
//! median of the ratios within the rounds. `HTTP_FLOOR` and `HTTP_RMCP` name the programs to
//! compare with: one that answers any POST with so many bytes, and one that does the same as ours
//! with the official Rust SDK. What is not named is left out.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "what it has measured is for people"
)]

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("this bench needs Linux: it reads /proc");
}

#[cfg(target_os = "linux")]
mod common;

#[cfg(target_os = "linux")]
fn main() {
    linux::main();
}

#[cfg(target_os = "linux")]
mod linux {
    use crate::common::http::{Connection, Era, Server, call, modern, post};
    use crate::common::prompts::{Prompts, SMALL};
    use rustix::event::epoll;
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    use serde_json::json;
    use std::env;
    use std::fs;
    use std::io::{ErrorKind, Read, Write};
    use std::net::TcpStream;
    use std::os::fd::OwnedFd;
    use std::process::Command;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::thread;
    use std::time::{Duration, Instant};

    /// How many connections have requests on their way at the same time.
    const CONNECTIONS: usize = 32;

    const ROUNDS: usize = 21;

    /// How long a server has its turn with many connections.
    const BLOCK: Duration = Duration::from_millis(400);

    /// How many requests are made on one connection in a turn.
    const ONE_BY_ONE: usize = 1_000;

    const LISTENERS: usize = 10_000;
    const EDITS: usize = 5;

    /// The clients that list, how many prompts, and for how long.
    const LISTING: usize = 64;
    const LISTED: usize = 10_000;
    const LISTING_FOR: Duration = Duration::from_secs(10);

    pub(crate) fn main() {
        let chosen: Vec<String> = env::args()
            .skip(1)
            .filter(|word| !word.starts_with('-'))
            .collect();
        let is_chosen = |name: &str| {
            chosen.is_empty() || chosen.iter().any(|word| name.contains(word.as_str()))
        };
        raise_limit_of_files();
        for era in [Era::Legacy, Era::Modern] {
            if is_chosen("expand") {
                expand(era);
            }
        }
        for era in [Era::Legacy, Era::Modern] {
            if is_chosen("listeners") {
                listeners(era);
            }
        }
        if is_chosen("lists") {
            lists();
        }
    }

    /// A server that takes its turn, and what was measured of it.
    struct Turn {
        name: &'static str,
        server: Server,
        request: Vec<u8>,
        connections: Vec<Connection>,
        measured: Vec<Measured>,
    }

    /// What was measured in one round.
    #[derive(Debug, Clone, Copy)]
    struct Measured {
        /// Requests a second, with many connections.
        rate: f64,
        /// CPU time of a request, in µs.
        cpu: f64,
        /// How long a request takes on one connection, in µs.
        p50: f64,
        p99: f64,
    }

    impl Turn {
        fn new(name: &'static str, server: Server, era: Era) -> Turn {
            let mut connections: Vec<_> = (0..CONNECTIONS)
                .map(|_| Connection::new(server.address))
                .collect();
            let session = (era == Era::Legacy && name != FLOOR)
                .then(|| connections[0].initialize())
                .flatten();
            let arguments = json!({"command": SMALL, "input": "solid-state batteries"});
            let request = call(era, session.as_deref(), "expand_prompt", &arguments);
            connections
                .iter_mut()
                .for_each(|connection| _ = connection.ask_well(&request));
            Turn {
                name,
                server,
                request,
                connections,
                measured: Vec::new(),
            }
        }

        fn measure(&mut self) -> Measured {
            let (cpu_time, start) = (self.server.cpu_time(), Instant::now());
            let mut count = 0;
            // Each connection has a request on its way, but for the moment between a response and
            // the next request.
            self.connections
                .iter_mut()
                .for_each(|connection| connection.write(&self.request));
            while start.elapsed() < BLOCK {
                for connection in &mut self.connections {
                    connection.read();
                    connection.write(&self.request);
                }
                count += self.connections.len();
            }
            let took = start.elapsed();
            self.connections
                .iter_mut()
                .for_each(|connection| _ = connection.read());
            let cpu_time = self.server.cpu_time() - cpu_time;
            let times = (0..ONE_BY_ONE).map(|_| {
                let start = Instant::now();
                self.connections[0].write(&self.request);
                self.connections[0].read();
                start.elapsed().as_secs_f64() * 1e6
            });
            let times = sorted(times.collect());
            Measured {
                rate: count as f64 / took.as_secs_f64(),
                cpu: cpu_time * 1e6 / (count + CONNECTIONS) as f64,
                p50: percentile(&times, 50),
                p99: percentile(&times, 99),
            }
        }

        fn median(&self, of: fn(&Measured) -> f64) -> f64 {
            percentile(&sorted(self.measured.iter().map(of).collect()), 50)
        }

        /// The median of the ratios to another server.
        fn ratio(&self, other: &Turn, of: fn(&Measured) -> f64) -> f64 {
            let ratios = self
                .measured
                .iter()
                .zip(&other.measured)
                .map(|(this, other)| of(this) / of(other));
            percentile(&sorted(ratios.collect()), 50)
        }
    }

    const OURS: &str = "ours";
    const AGAIN: &str = "ours again";
    const FLOOR: &str = "floor";
    const RMCP: &str = "rmcp";

    /// Expansions of a small prompt, one after the other and at the same time.
    fn expand(era: Era) {
        let prompts = Prompts::generate(10);
        let ours = Turn::new(OURS, Server::of_prompts(&prompts), era);
        let mut connection = Connection::new(ours.server.address);
        let length = connection.ask_well(&ours.request).len();
        let again = Turn::new(AGAIN, Server::of_prompts(&prompts), era);
        let mut turns = vec![ours, again];
        let others = [
            (FLOOR, "HTTP_FLOOR", length.to_string()),
            (
                RMCP,
                "HTTP_RMCP",
                prompts.path().to_str().expect("UTF-8").to_owned(),
            ),
        ];
        for (name, variable, argument) in others {
            match env::var_os(variable) {
                Some(program) => {
                    turns.push(Turn::new(
                        name,
                        Server::start(Command::new(program).arg(argument)),
                        era,
                    ));
                }
                None => println!("{variable} does not name a program: no comparison with {name}"),
            }
        }
        for round in 0..=ROUNDS {
            let count = turns.len();
            for turn in 0..count {
                let turn = &mut turns[(round + turn) % count];
                let measured = turn.measure();
                // The first round warms up.
                if round > 0 {
                    turn.measured.push(measured);
                }
            }
        }
        println!("\nexpand_prompt, {era:?}, {length} bytes");
        println!(
            "{:<12} {:>12} {:>12} {:>10} {:>10} {:>10}",
            "", "requests/s", "CPU µs", "p50 µs", "p99 µs", "peak MB"
        );
        let columns: [fn(&Measured) -> f64; 4] =
            [|it| it.rate, |it| it.cpu, |it| it.p50, |it| it.p99];
        for turn in &turns {
            let [rate, cpu, p50, p99] = columns.map(|of| turn.median(of));
            let memory = turn.server.memory("VmHWM");
            println!(
                "{:<12} {rate:>12.0} {cpu:>12.1} {p50:>10.1} {p99:>10.1} {memory:>10.1}",
                turn.name
            );
        }
        for other in &turns[1..] {
            let [rate, cpu, p50, p99] = columns.map(|of| turns[0].ratio(other, of));
            let memory = turns[0].server.memory("VmHWM") / other.server.memory("VmHWM");
            let name = format!("÷ {}", other.name);
            println!("{name:<12} {rate:>12.2} {cpu:>12.2} {p50:>10.2} {p99:>10.2} {memory:>10.2}");
        }
    }

    /// Many listeners that are idle, and how soon each of them has the notification of an edit.
    #[allow(clippy::too_many_lines, reason = "steps of one measurement")]
    fn listeners(era: Era) {
        let prompts = Prompts::generate(10);
        let server = Server::of_prompts(&prompts);
        let mut connection = Connection::new(server.address);
        let before = server.memory("VmRSS");
        let mut streams: Vec<TcpStream> = (0..LISTENERS)
            .map(|_| {
                let request = match era {
                    Era::Legacy => {
                        let session = connection.initialize().expect("a session");
                        let accept = "Accept: text/event-stream";
                        format!("GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n{accept}\r\nMcp-Session-Id: {session}\r\n\r\n")
                            .into_bytes()
                    }
                    Era::Modern => {
                        let method = "subscriptions/listen";
                        let params = json!({"notifications": {"promptsListChanged": true}, "_meta": modern()});
                        let headers = format!("MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\n");
                        post(&headers, method, &params)
                    }
                };
                let mut stream = TcpStream::connect(server.address).expect("a connection");
                stream.write_all(&request).expect("the server reads");
                let (mut text, mut buffer) = (String::new(), [0; 4096]);
                // The head, and the first event.
                while text.matches("\n\n").count() + text.matches("\r\n\r\n").count() < 2 {
                    let count = stream.read(&mut buffer).expect("the first event");
                    assert!(count > 0, "{text}");
                    text.push_str(str::from_utf8(&buffer[..count]).expect("UTF-8"));
                }
                assert!(text.starts_with("HTTP/1.1 200"), "{text}");
                stream
            })
            .collect();
        let memory = server.memory("VmRSS");
        let poll = Poll::new(&streams);
        println!("\n{LISTENERS} listeners, {era:?}: {memory:.0} MB ({before:.0} MB without them)");
        let draft = prompts.path().join("draft");
        for edit in 0..EDITS {
            fs::write(
                &draft,
                format!("---\ndescription: Number {edit}\n---\n{{{{input}}}}\n"),
            )
            .expect("a file");
            let start = Instant::now();
            fs::rename(&draft, prompts.path().join("edited.md")).expect("a file");
            let mut times = vec![None; LISTENERS];
            let mut missing = LISTENERS;
            let mut buffer = [0; 4096];
            while missing > 0 {
                for which in poll.wait() {
                    let count = streams[which].read(&mut buffer).expect("an event");
                    assert!(count > 0, "a stream has ended");
                    if times[which].is_none()
                        && memchr::memmem::find(&buffer[..count], b"list_changed").is_some()
                    {
                        times[which] = Some(start.elapsed().as_secs_f64() * 1e3);
                        missing -= 1;
                    }
                }
            }
            let times = sorted(times.into_iter().flatten().collect());
            let [p50, p99, last] = [50, 99, 100].map(|percent| percentile(&times, percent));
            println!(
                "an edit until they have it: p50 {p50:.0} ms, p99 {p99:.0} ms, the last {last:.0} ms"
            );
        }
        println!(
            "memory after that: {:.0} MB, at most {:.0} MB",
            server.memory("VmRSS"),
            server.memory("VmHWM")
        );
    }

    /// Many clients that list many prompts, and how long an expansion takes meanwhile.
    fn lists() {
        let prompts = Prompts::generate(LISTED);
        let server = Server::of_prompts(&prompts);
        let mut connection = Connection::new(server.address);
        let list = call(Era::Modern, None, "list_prompts", &json!({}));
        let expand = call(
            Era::Modern,
            None,
            "expand_prompt",
            &json!({"command": SMALL, "input": "x"}),
        );
        let length = connection.ask_well(&list).len();
        println!("\nexpansions while {LISTING} clients list {LISTED} prompts, {length} bytes each");
        // The same without them shows how much of it is the machine.
        let (is_over, listed) = (AtomicBool::new(false), AtomicUsize::new(0));
        for is_listing in [false, true] {
            let times = thread::scope(|scope| {
                if is_listing {
                    scope.spawn(|| keep_listing(&server, &list, &listed, &is_over));
                }
                let start = Instant::now();
                let mut times = Vec::new();
                while start.elapsed() < LISTING_FOR {
                    let start = Instant::now();
                    connection.ask_well(&expand);
                    times.push(start.elapsed().as_secs_f64() * 1e3);
                    thread::sleep(Duration::from_millis(1));
                }
                is_over.store(is_listing, Ordering::Relaxed);
                sorted(times)
            });
            let [p50, p99, longest] = [50, 99, 100].map(|percent| percentile(&times, percent));
            let (count, lists) = (times.len(), listed.load(Ordering::Relaxed));
            println!(
                "{count} expansions, {lists} lists: p50 {p50:.2} ms, p99 {p99:.2} ms, longest {longest:.2} ms"
            );
        }
        println!("memory: at most {:.0} MB", server.memory("VmHWM"));
    }

    /// Requests the list on many connections, on each again when it has come, until it is over.
    fn keep_listing(server: &Server, list: &[u8], listed: &AtomicUsize, is_over: &AtomicBool) {
        let mut streams: Vec<_> = (0..LISTING)
            .map(|_| TcpStream::connect(server.address).expect("a connection"))
            .collect();
        streams
            .iter_mut()
            .for_each(|stream| stream.write_all(list).expect("the server reads"));
        let poll = Poll::new(&streams);
        // How much of the response is still to come; `None` before its head.
        let mut rest: Vec<Option<usize>> = vec![None; LISTING];
        let mut buffer = vec![0; 256 * 1024];
        while !is_over.load(Ordering::Relaxed) {
            for which in poll.wait() {
                let count = match streams[which].read(&mut buffer) {
                    Ok(count) => count,
                    Err(error) if error.kind() == ErrorKind::WouldBlock => continue,
                    Err(error) => panic!("{error}"),
                };
                let expected = rest[which].unwrap_or_else(|| {
                    let body =
                        crate::common::http::body(&buffer[..count]).expect("a whole head at once");
                    assert!(buffer.starts_with(b"HTTP/1.1 200"));
                    body.end
                });
                rest[which] = (expected > count).then(|| expected - count);
                if rest[which].is_none() {
                    listed.fetch_add(1, Ordering::Relaxed);
                    streams[which].write_all(list).expect("the server reads");
                }
            }
        }
    }

    /// Which streams can be read.
    struct Poll(OwnedFd);

    impl Poll {
        fn new(streams: &[TcpStream]) -> Poll {
            let poll = epoll::create(epoll::CreateFlags::CLOEXEC).expect("epoll");
            for (which, stream) in streams.iter().enumerate() {
                stream.set_nonblocking(true).expect("an option");
                let data = epoll::EventData::new_u64(which as u64);
                epoll::add(&poll, stream, data, epoll::EventFlags::IN).expect("epoll");
            }
            Poll(poll)
        }

        /// Waits for a moment at most.
        fn wait(&self) -> impl Iterator<Item = usize> {
            let mut events = Vec::with_capacity(256);
            let moment = rustix::event::Timespec {
                tv_sec: 0,
                tv_nsec: 100_000_000,
            };
            epoll::wait(
                &self.0,
                rustix::buffer::spare_capacity(&mut events),
                Some(&moment),
            )
            .expect("epoll");
            events.into_iter().map(|event| event.data.u64() as usize)
        }
    }

    fn sorted(mut numbers: Vec<f64>) -> Vec<f64> {
        numbers.sort_by(f64::total_cmp);
        numbers
    }

    /// Of sorted numbers.
    fn percentile(numbers: &[f64], percent: usize) -> f64 {
        numbers[(numbers.len() * percent / 100).min(numbers.len() - 1)]
    }

    fn raise_limit_of_files() {
        let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
        setrlimit(
            Resource::Nofile,
            Rlimit {
                current: maximum,
                maximum,
            },
        )
        .expect("more open files");
    }
}
