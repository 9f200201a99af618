//! JSON-RPC on the stdio transport: framing, ids, notifications, garbage, batches, limits, the end.

use crate::client::{Client, LEGACY, modern};
use serde_json::{Value, json};
use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;
use std::process::Stdio;

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

#[track_caller]
fn refused(client: &mut Client, line: &str, code: i64, id: Value) {
    let answer = client.line(line);
    assert_eq!(
        (&answer["error"]["code"], &answer["id"]),
        (&code.into(), &id),
        "{line}: {answer}"
    );
}

/// The two messages of the table of frames, and the header of a frame with the answer.
const B: &str = r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#;
const A: &str = r#"{"jsonrpc":"2.0","id":2,"result":{}}"#;
const FRAMED: &str = "Content-Length: 36\r\n\r\n";

#[test]
fn an_answer_does_not_wait_for_a_frame_that_is_not_complete() {
    let mut client = Client::new();
    client.send(format!("{B}\nContent-Length: 40\r\n\r\n{}", &B[..20]));
    assert_eq!(client.read_raw(), format!("{A}\n"));
    client.send(format!("{}\n{B}\n", &B[20..]));
    let framed = client.read_raw(); // the header
    assert_eq!(framed, "Content-Length: 36\r\n");
    assert_eq!(
        (client.read_raw(), client.read_raw()),
        ("\r\n".to_owned(), format!("{A}{A}\n"))
    );
}

#[test]
fn notifications_have_the_framing_of_the_last_message() {
    let mut client = Client::new().prompt("a.md", "A.");
    let initialize = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;
    client.send(format!("{initialize}\n"));
    client.read_raw();
    client.send("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
    let list = r#"{"jsonrpc":"2.0","id":2,"method":"prompts/list"}"#;
    client.send(format!("{list}\n"));
    client.read_raw();
    client.send(format!("Content-Length: 1\n\n{B}"));
    assert_eq!(
        (client.read_raw(), client.read_raw()),
        ("Content-Length: 36\r\n".to_owned(), "\r\n".to_owned())
    );
    client.write("b.md", "B.");
    // The answer has no line ending, so the header of the notification is in its line.
    let line = client.read_raw();
    assert!(line.starts_with(&format!("{A}Content-Length: ")), "{line}");
    assert_eq!(client.read_raw(), "\r\n");
    client.finish();
}

#[test]
fn a_frame_without_json_is_a_parse_error_in_a_frame_and_the_next_line_is_read() {
    let error = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error: a frame must have a JSON object or array after its headers and an empty line"}}"#;
    let mut client = Client::new();
    client.send(format!("Content-Length: 5\r\n\r\nhello\n{B}\n"));
    let answers = format!("Content-Length: {}\r\n\r\n{error}{A}\n", error.len());
    assert_eq!(client.finish().0, answers);
}

/// What each line is, is told in `src/jsonrpc.rs`.
#[test]
fn before_and_after_initialize_a_line_has_the_same_answer() {
    for version in [None, Some("2025-03-26"), Some("2025-11-25")] {
        let mut client = Client::new();
        version.map(|version| client.initialize(version));
        for line in [
            r#"{"jsonrpc":"2.0","method":"nope"}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":5}"#,
            r#"{"jsonrpc":"2.0","method":"initialize","params":{"protocolVersion":"2025-03-26"}}"#,
            r#"{"method":"x"}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"x"}}"#,
        ] {
            client.silent(line);
        }
        let answer = client.line(r#"{"jsonrpc":"2.0","id":"","method":"ping"}"#);
        assert_eq!(answer, json!({"jsonrpc": "2.0", "id": "", "result": {}}));
        for (line, code, id) in [
            ("{oops", -32700, Value::Null),
            ("42", -32600, Value::Null),
            (r#"{"id":"a","method":"ping"}"#, -32600, "a".into()),
            (
                r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":[]}"#,
                -32602,
                7.into(),
            ),
            (
                r#"{"jsonrpc":"2.0","id":7,"method":"prompts/Get"}"#,
                -32601,
                7.into(),
            ),
            (
                r#"{"jsonrpc":"2.0","id":7,"method":"notifications/initialized"}"#,
                -32601,
                7.into(),
            ),
        ] {
            refused(&mut client, line, code, id);
        }
        client.send([0xff, 0xfe, b'\n']);
        assert_eq!(client.read()["error"]["code"], -32700, "not UTF-8");
        let list = client.line(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
        assert_eq!(
            list["result"]
                .as_object()
                .unwrap()
                .keys()
                .collect::<Vec<_>>(),
            ["tools"],
            "legacy, and no more"
        );
    }
}

#[test]
fn the_end_of_input_is_the_end_with_status_0() {
    let mut client = Client::new();
    client.initialize(LEGACY);
    let (rest, status, stderr) = client.finish();
    assert_eq!(
        (rest.as_str(), status.code(), stderr.as_str()),
        ("", Some(0), "")
    );
    let mut unasked = Client::new();
    assert_eq!(unasked.finish().1.code(), Some(0));
}

#[test]
fn the_answers_to_a_batch_are_bounded_and_the_rest_is_refused_one_by_one() {
    let mut client = Client::new().prompt("p.md", "x".repeat(4 * 1024 * 1024));
    client.initialize("2025-03-26");
    let call = |id: u32| {
        let params = json!({"name": "expand_prompt", "arguments": {"command": "p", "input": ""}});
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
    };
    let answers = client.line(json!((0..20).map(call).collect::<Vec<_>>()).to_string());
    let answers = answers.as_array().unwrap();
    assert_eq!(answers.len(), 20);
    let codes: Vec<_> = answers
        .iter()
        .map(|answer| answer["error"]["code"].as_i64())
        .collect();
    assert_eq!(
        (codes[0], codes[7], codes[19]),
        (None, None, Some(-32603)),
        "{codes:?}"
    );
    assert!(
        answers[19]["error"]["message"]
            .as_str()
            .unwrap()
            .ends_with("longer than 64 MiB; send this request alone")
    );
}

#[test]
fn a_batch_is_served_in_2025_03_26_only() {
    let batch = r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"x"},{"jsonrpc":"2.0","id":2,"method":"nope"},{"jsonrpc":"2.0","id":9,"result":{}},5]"#;
    let mut client = Client::new();
    client.initialize("2025-03-26");
    let answer = client.line(batch);
    let codes: Vec<(&Value, &Value)> = answer
        .as_array()
        .unwrap()
        .iter()
        .map(|answer| (&answer["id"], &answer["error"]["code"]))
        .collect();
    assert_eq!(
        codes,
        [
            (&json!(1), &Value::Null),
            (&json!(2), &json!(-32601)),
            (&Value::Null, &json!(-32600))
        ]
    );
    client.silent(r#"[{"jsonrpc":"2.0","method":"x"},{"jsonrpc":"2.0","id":9,"result":{}}]"#);
    refused(&mut client, "[]", -32600, Value::Null);
    for element in [
        json!({"jsonrpc": "2.0", "id": 3, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}}),
        json!({"jsonrpc": "2.0", "id": 3, "method": "tools/list", "params": modern(json!({}))}),
        json!({"jsonrpc": "2.0", "id": 3, "method": "server/discover"}),
    ] {
        let answer = client.line(json!([element]).to_string());
        assert_eq!(
            (&answer[0]["id"], &answer[0]["error"]["code"]),
            (&json!(3), &json!(-32600)),
            "{element}"
        );
    }
    assert_eq!(
        client.line(format!("[{PING}]")).as_array().unwrap().len(),
        1,
        "initialize in a batch changed the version"
    );

    for version in [None, Some("2025-06-18")] {
        let mut client = Client::new();
        version.map(|version| client.initialize(version));
        for line in [batch, "[]"] {
            refused(&mut client, line, -32600, Value::Null);
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn the_rest_of_a_line_that_is_too_long_is_not_stored() {
    let mut client = Client::new();
    let piece = vec![b'x'; 16 * 1024 * 1024];
    for _ in 0..16 {
        client.send(&piece);
    }
    client.send("\n");
    let answer = client.read();
    assert_eq!(
        (&answer["error"]["code"], &answer["id"]),
        (&json!(-32600), &Value::Null)
    );
    assert!(
        answer["error"]["message"]
            .as_str()
            .unwrap()
            .contains("longer than 32 MiB"),
        "{answer}"
    );
    assert_eq!(client.line(PING)["result"], json!({}));
    let peak = client.peak_memory_kib();
    assert!(peak < 64 * 1024, "{peak} KiB for a line of 256 MiB");
}

#[test]
fn a_frame_is_written_in_one_piece() {
    // Each piece that is written arrives as a datagram of its own.
    let (ours, theirs) = UnixDatagram::pair().unwrap();
    let client = Client::new();
    let mut command = client.command();
    command
        .arg("serve")
        .args(client.library_arguments())
        .stdin(Stdio::piped())
        .stdout(OwnedFd::from(theirs));
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    for _ in 0..2 {
        input
            .write_all(format!("Content-Length: 40\r\n\r\n{B}").as_bytes())
            .unwrap();
        let mut piece = [0; 1000];
        let length = ours.recv(&mut piece).unwrap();
        assert_eq!(
            str::from_utf8(&piece[..length]).unwrap(),
            format!("{FRAMED}{A}")
        );
    }
    drop(input);
    assert!(child.wait().unwrap().success());
}
