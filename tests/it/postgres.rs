//! The harness of PostgreSQL: one server for all tests of a process, and a database for each test.
//!
//! Where PostgreSQL is not installed, the tests print that and are skipped, unless
//! `POSTGRES=required` is set, as CI does.

use crate::certificates::Authority;
use crate::client::Client;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{LazyLock, Mutex, PoisonError};

/// Runs a server with a folder of its own until the standard input ends, which it does however this
/// process ends.
const SERVER: &str = r#"
set -e
d=$(mktemp -d); stop() { for data in data standby; do "$0/pg_ctl" -D "$d/$data" -m immediate stop || true; done; }
trap 'stop >/dev/null 2>&1; rm -rf "$d"' EXIT
start() { "$0/pg_ctl" -D "$d/$1" -o "-p $2 -k $d -c listen_addresses=127.0.0.1 -c fsync=off -c max_connections=300" -l "$d/log" -w start; }
"$0/initdb" -D "$d/data" -U postgres -A trust -E UTF8 --locale C.UTF-8 --no-sync >"$d/log" 2>&1
start data "$1" >"$d/log" 2>&1
echo ready
while read -r line; do
    if eval "$line" >>"$d/log" 2>&1; then echo done; else tail -n 5 "$d/log"; fi
done
"#;

/// A server, with its port.
pub(crate) struct Postgres {
    child: Mutex<(Child, BufReader<ChildStdout>)>,
    pub(crate) port: u16,
}

static SHARED: LazyLock<Option<Postgres>> = LazyLock::new(Postgres::start);

/// Runs a program as somebody who may run PostgreSQL, which refuses root.
pub(crate) fn as_postgres(program: &str) -> Command {
    if !rustix::process::geteuid().is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("runuser");
    command.args(["-u", "postgres", "--", program]);
    command
}

impl Postgres {
    /// `None` if it is not installed.
    pub(crate) fn start() -> Option<Postgres> {
        let versions = std::fs::read_dir("/usr/lib/postgresql")
            .into_iter()
            .flatten();
        let programs = versions
            .map(|version| version.unwrap().path().join("bin").display().to_string())
            .max()?;
        // Another test may take the port before the server does.
        let server = (0..3).find_map(|_| Postgres::start_on_a_free_port(&programs));
        assert!(server.is_some(), "PostgreSQL has not started");
        server
    }

    /// Starts a server. `None` if it does not become ready.
    fn start_on_a_free_port(programs: &str) -> Option<Postgres> {
        let port = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let mut command = as_postgres("bash");
        command
            .args(["-c", SERVER, programs, &port.to_string()])
            .current_dir("/");
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        if line != "ready\n" {
            child.wait().unwrap();
            return None;
        }
        Some(Postgres {
            child: Mutex::new((child, output)),
            port,
        })
    }

    /// Runs a line in the shell of the server, in which `$0` is the folder of its programs, `$d`
    /// that of its data, and `start` and `stop` do so.
    #[track_caller]
    pub(crate) fn shell(&self, line: &str) {
        let (child, output) = &mut *self.child.lock().unwrap();
        writeln!(child.stdin.as_mut().unwrap(), "{line}").unwrap();
        let mut answer = String::new();
        output.read_line(&mut answer).unwrap();
        assert_eq!(answer, "done\n", "{line}");
    }

    /// Starts again with a certificate for `localhost`, and with these lines as `pg_hba.conf`.
    pub(crate) fn use_tls(&self, authority: &Authority, logins: &str) {
        let (certificate, key) = authority.issue(|_| {});
        for (file, text) in [
            ("server.crt", &*certificate),
            ("server.key", &key),
            ("pg_hba.conf", logins),
        ] {
            let text = STANDARD.encode(text);
            self.shell(&format!(
                "echo {text} | base64 -d > \"$d/data/{file}\"; chmod 600 \"$d/data/{file}\""
            ));
        }
        let port = self.port;
        self.shell(&format!(
            "echo ssl=on >> \"$d/data/postgresql.conf\"; stop; start data {port}"
        ));
    }

    /// The address of a database.
    pub(crate) fn url(&self, database: &str) -> String {
        format!(
            "postgres://postgres@127.0.0.1:{}/{database}?sslmode=disable",
            self.port
        )
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        let (child, _) = self.child.get_mut().unwrap_or_else(PoisonError::into_inner);
        drop(child.stdin.take());
        _ = child.wait();
    }
}

#[allow(clippy::print_stdout)] // a test that is skipped says so
/// The address of a new database; `None` if PostgreSQL is not installed.
pub(crate) fn database() -> Option<String> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    if !cfg!(feature = "store") {
        return None;
    }
    let Some(server) = &*SHARED else {
        assert!(
            std::env::var_os("POSTGRES").is_none(),
            "PostgreSQL is not installed"
        );
        println!("skipped: PostgreSQL is not installed");
        return None;
    };
    let name = format!("t{}", NUMBER.fetch_add(1, Ordering::Relaxed));
    sql(&server.url("postgres"), &format!("create database {name}"));
    Some(server.url(&name))
}

/// What psql prints for a statement.
#[track_caller]
pub(crate) fn sql(url: &str, statement: &str) -> String {
    let ran = Command::new("psql")
        .args(["-XqAt", "-v", "ON_ERROR_STOP=1", url, "-c", statement])
        .output()
        .unwrap();
    assert!(
        ran.status.success(),
        "{statement}: {}",
        String::from_utf8_lossy(&ran.stderr)
    );
    String::from_utf8(ran.stdout).unwrap().trim().to_owned()
}

/// The address of the store of a client; `None`: it has folders.
pub(crate) fn store_of(client: &Client) -> Option<String> {
    let words = client.library_arguments();
    words
        .iter()
        .position(|word| word == "--store")
        .map(|at| words[at + 1].clone())
}

/// A client with its prompts in a folder and, if PostgreSQL is installed, one with the same prompts
/// in a store.
pub(crate) fn folder_and_store(home: impl Fn() -> Client) -> Vec<Client> {
    let stored = database().map(|url| {
        Client::new()
            .arguments([])
            .run(["store", "init", "--store", &url], "")
            .says(0, &[]);
        let (words, client) = (home().library_arguments(), home());
        let words = words
            .iter()
            .map(|word| if word == "--prompts" { "--store" } else { word });
        let words: Vec<&str> = words
            .map(|word| if word == "prompts" { &url } else { word })
            .collect();
        let client = client.arguments(words);
        let files = walkdir::WalkDir::new(client.prompts())
            .into_iter()
            .map(Result::unwrap);
        for file in files.filter(|file| file.file_type().is_file()) {
            let path = file
                .path()
                .strip_prefix(client.prompts())
                .unwrap()
                .to_str()
                .unwrap();
            save(
                &client,
                path,
                &std::fs::read_to_string(file.path()).unwrap(),
            );
        }
        client
    });
    [home()].into_iter().chain(stored).collect()
}

/// Writes a file as somebody else.
pub(crate) fn save(client: &Client, path: &str, text: &str) {
    let Some(url) = store_of(client) else {
        return client.save(path, text);
    };
    let new = format!(
        "with new as (insert into history (seq, path, text) select coalesce(max(seq), 0) + 1, $q${path}$q$, $q${text}$q$ from history returning *)"
    );
    let set = "on conflict (path) do update set text = excluded.text, seq = excluded.seq";
    sql(
        &url,
        &format!(
            "{new} insert into file select path, lower(path), text, seq from new {set}; notify prompt_expander"
        ),
    );
}

/// What a file holds; `None` if there is none.
pub(crate) fn text_of(client: &Client, path: &str) -> Option<String> {
    let Some(url) = store_of(client) else {
        return std::fs::read_to_string(client.prompts().join(path)).ok();
    };
    let text = sql(
        &url,
        &format!("select text || '|' from file where path = '{path}'"),
    );
    text.strip_suffix('|').map(str::to_owned)
}
