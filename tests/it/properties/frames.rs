//! The same messages get the same answers, however each is framed: a line is answered with a line,
//! and a frame with a frame.

use prompt_expander::library::Library;
use prompt_expander::server::{Server, Settings};
use prompt_expander::transport::stdio::serve;
use std::io::{self, Cursor, Write};
use std::sync::{Arc, Mutex, OnceLock};

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
static ANSWERS: OnceLock<[Vec<u8>; 8]> = OnceLock::new();

/// Each byte selects a message and its framing.
pub(super) fn check(selection: &[u8]) {
    let library = Arc::new(Library::named([]).with_builtin());
    let answers = ANSWERS.get_or_init(|| {
        MESSAGES.map(|message| served(&library, format!("{message}\n").as_bytes()))
    });
    let (mut framed, mut expected) = (Vec::new(), Vec::new());
    for byte in selection.iter().map(|byte| usize::from(*byte)) {
        let (message, before) = (MESSAGES[byte % 8], BEFORE[byte / 8 % 10]);
        let answer = &answers[byte % 8];
        let is_frame = before.contains(':');
        framed.extend_from_slice(before.as_bytes());
        // One line of these headers is no header, and gets an error of its own.
        if let Some((line, _)) = before
            .split_once('\n')
            .filter(|(line, _)| !line.is_empty() && !line.contains(':'))
        {
            expected.extend(served(&library, format!("{line}\n").as_bytes()));
            expected.extend(served(&library, b": 7\n"));
        }
        framed.extend_from_slice(message.as_bytes());
        framed.extend_from_slice(if is_frame {
            AFTER[byte % 4].as_bytes()
        } else {
            b"\n"
        });
        let json = answer.trim_ascii_end();
        if is_frame && !json.is_empty() {
            expected.extend(format!("Content-Length: {}\r\n\r\n", json.len()).bytes());
            expected.extend(json);
        } else {
            expected.extend(answer);
        }
    }
    let text = String::from_utf8_lossy;
    assert_eq!(
        text(&served(&library, &framed)),
        text(&expected),
        "{:?}",
        text(&framed)
    );
    // Any bytes may follow a header, and the server goes on.
    served(&library, &[b"Content-Length: 1\n\n", selection].concat());
}

/// An output that is read when all is written.
#[derive(Clone, Default)]
struct SharedOutput(Arc<Mutex<Vec<u8>>>);

impl Write for SharedOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// All that a server writes for this input.
fn served(library: &Arc<Library>, input: &[u8]) -> Vec<u8> {
    let output = SharedOutput::default();
    serve(
        &Server::new(Arc::clone(library), Settings::default()),
        Cursor::new(input.to_vec()),
        output.clone(),
        None,
    )
    .unwrap();
    let output = output.0.lock().unwrap();
    output.clone()
}
