//! The same messages get the same answers, however each is framed: a line is answered with a line,
//! and a frame with a frame.

use super::stdio::served;
use prompt_expander::library::Library;
use std::sync::{Arc, OnceLock};

/// Messages that each get one answer, but for the last, which gets none.
const MESSAGES: [&str; 8] = [
    r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
    r#"{"jsonrpc":"2.0","id":"}]{[\"\\","method":"ping","params":{"a":["\\\"",{},[[]]]}}"#,
    r#"{"jsonrpc":"2.0","id":"Content-Length: 5","method":"nope"}"#,
    r#"{"jsonrpc":"2.0", "id":2,   "method":"resources/templates/list"}"#,
    r#"{"id":3,}"#,
    "[]",
    r#"[{"jsonrpc":"2.0","id":4,"method":"ping"}]"#,
    r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
];

/// What may be before a message; those after the first two make it a frame.
const BEFORE: [&str; 10] = [
    "",
    " \t",
    "Content-Length: 40\r\n\r\n",
    "content-length:1\n\n",
    "Content-Type: application/json\r\nContent-Length: 99999999999999999999\r\n\r\n",
    "CONTENT-LENGTH\n: 7\nContent-Length: x\n\n",
    " Content-Type: x\n",
    "Content-Length: -1\nA: b\nC: d\n\n\n  \r\n",
    "\nContent-Length:\n\n",
    "Content-Length: 2\n",
];

/// What may be after a frame.
const AFTER: [&str; 4] = ["", "\n", "\r\n", " \n\n"];

/// What is answered to each message in a line.
static ANSWERS: OnceLock<[String; 8]> = OnceLock::new();

/// Each byte selects a message and its framing.
pub(super) fn check(selection: &[u8]) {
    let library = Arc::new(Library::named([]).with_builtin());
    let answers = ANSWERS.get_or_init(|| {
        MESSAGES.map(|message| served(&library, format!("{message}\n").as_bytes()))
    });
    let mut framed = String::new();
    let mut expected = String::new();
    for byte in selection.iter().map(|byte| usize::from(*byte)) {
        let (message, before) = (MESSAGES[byte % 8], BEFORE[byte / 8 % 10]);
        let answer = &answers[byte % 8];
        let is_frame = before.contains(':');
        framed += before;
        // One line of these headers is no header, and gets an error of its own.
        if let Some((line, _)) = before
            .split_once('\n')
            .filter(|(line, _)| !line.is_empty() && !line.contains(':'))
        {
            expected += &served(&library, format!("{line}\n").as_bytes());
            expected += &served(&library, b": 7\n");
        }
        framed += message;
        framed += if is_frame { AFTER[byte % 4] } else { "\n" };
        let json = answer.trim_end();
        if is_frame && !json.is_empty() {
            expected += &format!("Content-Length: {}\r\n\r\n{json}", json.len());
        } else {
            expected += answer;
        }
    }
    assert_eq!(served(&library, framed.as_bytes()), expected, "{framed:?}");
    // Any bytes may follow a header, and the server goes on.
    served(&library, &[b"Content-Length: 1\n\n", selection].concat());
}
