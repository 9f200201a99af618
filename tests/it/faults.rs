//! Faults of the system: files that vanish while they are read, failing disks, no free file
//! descriptors, pipes that are closed or slow. The program answers what can be answered, explains
//! what cannot, and exits as expected.
//!
//! Missing permissions are tested in `prompts_dir.rs` (as another user, since root may read
//! everything), and permissions that return in `changes.rs`. The failing disk is `/proc/self/mem`,
//! whose first page no process can read. Not tested, because they would affect the whole machine: a
//! disk that never answers (a dead network mount), no free memory (the system or Rust ends the
//! process), a clock that jumps.

use crate::client::{Client, LEGACY, assert_contains};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::Pid;
use serde_json::{Value, json};
use std::fs;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::symlink;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

const PING: &str = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";
const PONG: &str = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n";

/// More than any pipe holds, so that whoever writes it waits for its reader.
const MORE_THAN_A_PIPE: usize = 512 * 1024;

/// The line of a call of `expand_prompt`.
fn expand(id: usize, command: &str, input: &str) -> String {
    let params =
        json!({"name": "expand_prompt", "arguments": {"command": command, "input": input}});
    format!(
        "{}\n",
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
    )
}

/// The program on pipes that the test holds itself.
fn start(client: &Client) -> Child {
    let mut command = client.command();
    command.args(client.library_arguments());
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Waits for the exit: the exit status unless it was a signal, standard output and standard error.
#[track_caller]
fn end(child: Child) -> (Option<i32>, String, String) {
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (
        output.status.code(),
        text(output.stdout),
        text(output.stderr),
    )
}

/// Waits until there is something to read.
fn wait_for_output(pipe: &impl AsFd) {
    poll(&mut [PollFd::new(pipe, PollFlags::IN)], None).unwrap();
}

/// Repeats something in another thread until the test is done.
fn meanwhile(again: impl Fn() + Sync, test: impl FnOnce()) {
    struct Done<'d>(&'d AtomicBool);
    impl Drop for Done<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_done.load(Ordering::Relaxed) {
                again();
            }
        });
        let _done = Done(&is_done); // also when the test fails
        test();
    });
}

/// The names, or URIs, of a list.
fn listed(client: &mut Client, method: &str, list: &str, key: &str) -> Vec<String> {
    let result = client.result(method, json!({}));
    result[list]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry[key].as_str().unwrap().to_owned())
        .collect()
}

mod files {
    use super::*;

    #[test]
    fn a_file_that_becomes_a_folder_or_a_fifo_at_any_moment_blocks_no_request() {
        let mut client = Client::new().prompt("keep.md", "Kept.");
        let (prompts, root) = (client.prompts(), client.root().to_owned());
        fs::write(root.join("file"), "A file.").unwrap();
        fs::create_dir(root.join("folder")).unwrap();
        crate::client::make_fifo(&root.join("fifo"));
        let again = || {
            for target in ["file", "folder", "fifo", "/dev/zero", "nowhere"] {
                let draft = root.join("draft");
                symlink(root.join(target), &draft).unwrap();
                fs::rename(&draft, prompts.join("x.md")).unwrap();
            }
        };
        again();
        meanwhile(again, || {
            for _ in 0..300 {
                let list = client.list();
                let shown = list["prompts"].as_array().unwrap();
                assert_eq!(
                    shown[0],
                    json!({"name": "keep", "description": "Kept."}),
                    "{list}"
                );
                assert!(
                    shown[1..]
                        .iter()
                        .all(|prompt| prompt["description"] == "A file."),
                    "{list}"
                );
                let answer = client.expand("x", "").0;
                let text = answer["content"][0]["text"].as_str().unwrap();
                let known = [
                    "{\"prompt\":\"A file.\"}",
                    "No prompt named",
                    "is not a regular file",
                    "the link is broken",
                ];
                assert!(known.iter().any(|known| text.contains(known)), "{answer}");
            }
        });
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_read_error_is_explained_and_affects_nothing_else() {
        let mut client = Client::new().prompt("good.md", "Good.");
        client.link("/proc/self/mem", "prompts/bad.md");
        let reason = "the file cannot be read: Input/output error (os error 5); check that it exists and is readable";
        let path = client.path("prompts/bad.md").display().to_string();
        assert_eq!(
            client.expand("bad", "x").error(),
            format!(
                "`bad` cannot be expanded. {path}: {reason}. Tell the user this; the prompt works as soon as that is done."
            )
        );
        let good = json!([{"name": "good", "description": "Good."}]);
        assert_eq!(
            client.list(),
            json!({"prompts": good, "problems": [{"file": "bad.md", "message": reason}]})
        );
        assert_eq!(
            listed(&mut client, "prompts/list", "prompts", "name"),
            ["good"]
        );
        assert_eq!(
            listed(&mut client, "resources/list", "resources", "uri"),
            ["prompt://good"]
        );
        for (method, params) in [
            ("prompts/get", json!({"name": "bad"})),
            ("resources/read", json!({"uri": "prompt://bad"})),
        ] {
            let error = client.request(method, params)["error"].clone();
            assert_eq!(
                error,
                json!({"code": -32603, "message": format!("{path}: {reason}")}),
                "{method}"
            );
        }
        client.expand("good", "").text("Good.");
        client
            .words("expand bad x")
            .failed(1, &format!("error: {path}: {reason}\n"));
        assert!(
            client
                .words("check")
                .stdout
                .contains("bad.md: error: the file cannot be read: Input/output error")
        );
    }
}

#[test]
fn a_user_without_a_home_of_whom_the_system_knows_nothing_is_served() {
    let Some(client) = Client::new().arguments([]).without_home() else {
        return;
    };
    let mut client_of_nothing = client;
    client_of_nothing.expand("commit", "x").structured();
    assert!(client_of_nothing.names().contains("commit"));
    let mut client_of_a_folder = Client::new()
        .prompt("a.md", "A {{input}}")
        .without_home()
        .unwrap();
    client_of_a_folder.expand("a", "x").text("A x");
    client_of_a_folder
        .run(["expand", "a", "x"], "")
        .printed("A x\n");
}

#[cfg(target_os = "linux")]
mod exhausted {
    use super::*;
    use rustix::process::{Resource, Rlimit, prlimit};

    /// Leaves this many free file descriptors.
    fn leave_descriptors(pid: Pid, more: usize) {
        let open = fs::read_dir(format!("/proc/{}/fd", pid.as_raw_pid())).unwrap();
        let open: Vec<u64> = open
            .map(|entry| {
                entry
                    .unwrap()
                    .file_name()
                    .to_str()
                    .unwrap()
                    .parse()
                    .unwrap()
            })
            .collect();
        let free = (0..)
            .filter(|number| !open.contains(number))
            .nth(more)
            .unwrap();
        set_descriptors(pid, free); // the lowest one that is no longer free
    }

    fn set_descriptors(pid: Pid, limit: u64) {
        let maximum = rustix::process::getrlimit(Resource::Nofile).maximum;
        prlimit(
            Some(pid),
            Resource::Nofile,
            Rlimit {
                current: Some(limit),
                maximum,
            },
        )
        .unwrap();
    }

    const MANY: u64 = 100;

    #[test]
    fn without_free_descriptors_every_request_is_answered_with_the_reason_and_recovers() {
        let mut client = Client::new()
            .prompt("a.md", "A {{input}}")
            .prompt("folder/b.md", "B");
        client.expand("a", "x").text("A x");
        let all = client.list();
        let pid = Pid::from_raw(client.pid() as i32).unwrap();
        for round in 0..2 {
            // What has just changed is not cached.
            client.write("a.md", "A {{input}}");
            client.write(&format!("{round}.txt"), "");
            leave_descriptors(pid, 0);
            let reason = "Too many open files (os error 24)";
            let error = client.expand("a", "x").error();
            assert_contains(
                &error,
                &format!("a.md: the file cannot be read: {reason}; "),
            );
            let error = client.expand("nope", "").error();
            assert!(
                error.starts_with("No prompt named `nope`") && error.contains(reason),
                "{error}"
            );
            let list = client.list();
            assert_eq!(list["prompts"], json!([]));
            let message = list["problems"][0]["message"].as_str().unwrap();
            assert!(
                message.starts_with(&format!("the prompts folder cannot be read: {reason}")),
                "{list}"
            );
            for (method, params) in [
                ("prompts/get", json!({"name": "a"})),
                ("resources/read", json!({"uri": "prompt://a"})),
            ] {
                let answer = client.request(method, params);
                assert_eq!(answer["error"]["code"], -32603, "{answer}");
                assert!(
                    answer["error"]["message"]
                        .as_str()
                        .unwrap()
                        .contains(reason),
                    "{answer}"
                );
            }
            for method in ["tools/list", "prompts/list", "resources/list"] {
                assert!(client.result(method, json!({})).is_object(), "{method}");
            }
            // One is enough for a file, and for a folder without subfolders.
            leave_descriptors(pid, 1);
            client.expand("a", "x").text("A x");
            let list = client.list();
            assert_eq!(
                list["prompts"],
                json!([{"name": "a", "description": "A {{input}}"}]),
                "{list}"
            );
            let message = format!("cannot be read: {reason}; try again");
            assert_eq!(
                list["problems"],
                json!([{"file": "folder", "message": message}]),
                "{list}"
            );
            set_descriptors(pid, MANY);
            client.expand("a", "x").text("A x");
            assert_eq!(client.list(), all);
        }
    }
}

mod pipes {
    use super::*;

    #[test]
    fn a_client_that_closes_our_output_in_the_middle_of_an_answer_is_an_ordinary_end() {
        let client = Client::new().prompt("large.md", "x".repeat(MORE_THAN_A_PIPE));
        let mut server = start(&client);
        let stdin = server.stdin.take();
        stdin
            .as_ref()
            .unwrap()
            .write_all(expand(1, "large", "").as_bytes())
            .unwrap();
        let mut stdout = server.stdout.take().unwrap();
        stdout.read_exact(&mut [0; 1000]).unwrap();
        drop(stdout);
        assert_eq!(
            end(server),
            (Some(0), String::new(), String::new()),
            "although its input is open"
        );
        drop(stdin);
    }

    #[test]
    fn a_client_that_closes_both_ends_at_once_is_an_ordinary_end() {
        let client = Client::new().prompt("large.md", "x".repeat(MORE_THAN_A_PIPE));
        for requests in [
            String::new(),
            PING.repeat(100),
            expand(1, "large", ""),
            "{\"jsonrpc\":".to_owned(),
        ] {
            let mut server = start(&client);
            server
                .stdin
                .take()
                .unwrap()
                .write_all(requests.as_bytes())
                .unwrap();
            drop(server.stdout.take());
            assert_eq!(
                end(server),
                (Some(0), String::new(), String::new()),
                "{requests}"
            );
        }
    }

    #[test]
    fn an_answer_that_is_being_written_when_the_input_ends_is_written_to_its_end() {
        let client = Client::new().prompt("large.md", "x".repeat(MORE_THAN_A_PIPE));
        let mut server = start(&client);
        let mut stdin = server.stdin.take().unwrap();
        stdin
            .write_all(format!("{}{PING}", expand(7, "large", "")).as_bytes())
            .unwrap();
        wait_for_output(server.stdout.as_ref().unwrap());
        drop(stdin);
        let (status, stdout, stderr) = end(server);
        assert_eq!((status, stderr.as_str()), (Some(0), ""));
        let [answer, pong] = stdout.split_inclusive('\n').collect::<Vec<_>>()[..] else {
            panic!("{stdout:.100}")
        };
        let answer: Value = serde_json::from_str(answer).unwrap();
        let text = answer["result"]["structuredContent"]["prompt"]
            .as_str()
            .unwrap();
        assert_eq!(
            (&answer["id"], text.len(), pong),
            (&json!(7), MORE_THAN_A_PIPE, PONG)
        );
    }

    #[test]
    fn input_that_ends_within_a_message_is_answered_as_what_it_is() {
        for begun in [
            "{",
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"met",
            PING.trim_end().strip_suffix('}').unwrap(),
        ] {
            let ran = Client::new().run([], format!("{PING}{begun}"));
            let [pong, error] = ran.stdout.split_inclusive('\n').collect::<Vec<_>>()[..] else {
                panic!("{ran:?}")
            };
            let error: Value = serde_json::from_str(error).unwrap();
            assert_eq!(
                (pong, &error["id"], &error["error"]["code"]),
                (PONG, &Value::Null, &json!(-32700)),
                "{begun}"
            );
            assert_eq!((ran.status.code(), ran.stderr.as_str()), (Some(0), ""));
        }
    }

    #[test]
    fn everything_is_served_if_standard_error_is_closed() {
        let full = if cfg!(target_os = "linux") {
            "exec 2>/dev/full"
        } else {
            "exec 2>&-"
        };
        for script in ["exec 2>&-", full] {
            // There is something to warn of.
            let mut client = Client::new().after(script).arguments([
                "--prompts",
                "prompts",
                "--prompts",
                "nowhere",
            ]);
            client.write("a.md", "A {{input}}");
            client.initialize(LEGACY);
            client.expand("a", "x").text("A x");
            assert_eq!(client.list()["problems"].as_array().unwrap().len(), 1);
        }
    }
}
