//! `--store`: what somebody gets who answers in place of the database, and what somebody can do who
//! may only connect to it.

use crate::certificates::Authority;
use crate::client::{Client, Ran};
use crate::http_client::write_secret;
use crate::postgres::{Postgres, database, sql};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpListener, UdpSocket};
use std::process::{Command, Stdio};
use std::thread;

/// The messages that a server may answer a login with: `AuthenticationCleartextPassword`,
/// `AuthenticationMD5Password` and `AuthenticationSASL`.
const CLEARTEXT: &[u8] = b"R\0\0\0\x08\0\0\0\x03";
const MD5: &[u8] = b"R\0\0\0\x0c\0\0\0\x05salt";
const SCRAM: &[u8] = b"R\0\0\0\x17\0\0\0\x0aSCRAM-SHA-256\0\0";

/// Runs `list` against a server at this address that has no TLS and asks for a login. Returns also
/// what the server got after it has asked.
fn list_from_impostor(host: IpAddr, parameters: &str, request: &'static [u8]) -> (Ran, Vec<u8>) {
    let listener = TcpListener::bind((host, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let asks_for_tls = !parameters.contains("disable");
    let impostor = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut bytes = vec![0; 8];
        if asks_for_tls {
            stream.read_exact(&mut bytes).unwrap();
            stream.write_all(b"N").unwrap();
        }
        let mut length = [0; 4];
        if stream.read_exact(&mut length).is_err() {
            return Vec::new(); // it wants nothing of a server without TLS
        }
        bytes.resize(u32::from_be_bytes(length) as usize - 4, 0);
        stream.read_exact(&mut bytes).unwrap();
        // In two parts, as a network may deliver it.
        stream.set_nodelay(true).unwrap();
        stream.write_all(&request[..6]).unwrap();
        stream.write_all(&request[6..]).unwrap();
        let mut answer = vec![0; 100];
        let length = stream.read(&mut answer).unwrap_or_default();
        answer.truncate(length);
        answer
    });
    let url = format!("postgres://ada:s3cret@{address}/prompts{parameters}");
    let ran = Client::new()
        .arguments([])
        .variable("PROMPT_EXPANDER_STORE", &url)
        .words("list");
    (ran, impostor.join().unwrap())
}

/// An address of this machine that is not one of loopback; `None` if it has none.
fn own_address() -> Option<IpAddr> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
    socket.connect("192.0.2.1:9").ok()?; // sends nothing
    let address = socket.local_addr().unwrap().ip();
    (!address.is_loopback()).then_some(address)
}

#[test]
fn a_server_without_tls_gets_a_password_only_by_scram() {
    let here = IpAddr::V4(Ipv4Addr::LOCALHOST);
    for parameters in ["", "?sslmode=prefer", "?sslmode=disable"] {
        for request in [CLEARTEXT, MD5] {
            let (ran, answer) = list_from_impostor(here, parameters, request);
            ran.says(1, &["without TLS, the password is sent only by SCRAM"]);
            assert_eq!(answer, b"", "{parameters}");
        }
        let (ran, answer) = list_from_impostor(here, parameters, SCRAM);
        assert!(answer.starts_with(b"p"), "{}", ran.stderr);
        assert!(!String::from_utf8_lossy(&answer).contains("s3cret"));
    }
}

#[test]
fn a_server_on_another_machine_must_have_tls_unless_the_address_disables_it() {
    let Some(elsewhere) = own_address() else {
        return;
    };
    for parameters in ["", "?sslmode=prefer", "?sslmode=require"] {
        let (ran, answer) = list_from_impostor(elsewhere, parameters, SCRAM);
        ran.says(1, &["the server does not offer TLS; turn it on there"]);
        assert_eq!(answer, b"", "{parameters}");
    }
    let (_, answer) = list_from_impostor(elsewhere, "?sslmode=disable", SCRAM);
    assert!(answer.starts_with(b"p"));
}

#[test]
fn each_login_of_postgresql_works_with_tls_and_only_scram_without() {
    let Some(postgres) = Postgres::start() else {
        return;
    };
    sql(
        &postgres.url("postgres"),
        "create role scram login password 'pw'; create role clear login password 'pw';
         set password_encryption = 'md5'; create role md5 login password 'pw'",
    );
    let authority = Authority::new();
    postgres.use_tls(
        &authority,
        "host all scram all scram-sha-256\nhost all clear all password\nhost all md5 all md5\n",
    );
    for (role, works_without_tls) in [("scram", true), ("clear", false), ("md5", false)] {
        let client = Client::new().arguments([]);
        let trusted = client.path("ca.pem").display().to_string();
        write_secret(&trusted, &authority.pem());
        let client = client.variable("SSL_CERT_FILE", &trusted);
        for mode in ["require", "disable"] {
            let address = format!(
                "postgres://{role}:pw@localhost:{}/postgres?sslmode={mode}",
                postgres.port
            );
            write_secret(client.path("store"), &address);
            let is_let_in = mode == "require" || works_without_tls;
            let says = if is_let_in {
                "prepare the database with `prompt-expander store init`"
            } else {
                "without TLS, the password is sent only by SCRAM"
            };
            client.words("list --store-file store").says(1, &[says]);
        }
    }
}

#[test]
fn somebody_who_may_only_connect_to_the_database_neither_stops_writes_nor_is_read() {
    let Some(url) = database() else { return };
    let of = |role: &str| url.replace("postgres@", &format!("{role}@"));
    let on = |role: &str| Client::new().arguments(["--no-builtin", "--store", &of(role)]);
    let init = ["store", "init", "--store", &url];
    Client::new().arguments([]).run(init, "").says(0, &[]);
    let database = sql(&url, "select current_database()");
    sql(
        &url,
        &format!(
            "create role library login; grant select, insert, update, delete on file, history to library;
             grant select on store to library; create role neighbour login; grant create on database {database} to neighbour"
        ),
    );
    // The schema with the name of the role is the first in which PostgreSQL looks by default.
    sql(
        &of("neighbour"),
        "create schema library; grant usage on schema library to public; set search_path = library;
         create table store (format integer); insert into store values (1);
         create table file (path text, folded text unique, text text, seq bigint);
         create table history (seq bigint, path text, text text, author text, note text, at timestamptz);
         insert into file values ('evil.md', 'evil.md', 'Evil', 1);
         grant all on store, file, history to public",
    );
    let mut psql = Command::new("psql")
        .args(["-XqAt", &of("neighbour")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = psql.stdin.take().unwrap();
    // The advisory lock that writers took once, and all locks on tables that they may take.
    writeln!(
        input,
        "select pg_advisory_lock(x'0070726f6d707473'::bigint);"
    )
    .unwrap();
    writeln!(
        input,
        "begin; lock table public.history in access share mode; rollback; begin;"
    )
    .unwrap();
    writeln!(input, "select 'held';").unwrap();
    let lines = BufReader::new(psql.stdout.take().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line == "held"));
    let library = on("library");
    library.run(["new", "a"], "A").says(0, &[]);
    library.words("list").says(0, &["a\t"]);
    assert_eq!(library.words("list").stdout.lines().count(), 1);
    assert_eq!(sql(&url, "select path from public.file"), "a.md");
    drop(input);
    psql.wait().unwrap();
    sql(
        &url,
        "drop owned by library, neighbour cascade; drop role library, neighbour",
    );
}
