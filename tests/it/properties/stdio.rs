//! A session on standard input and output, in memory.

use prompt_expander::library::Library;
use prompt_expander::server::{Server, Settings};
use prompt_expander::transport::stdio::serve;
use std::io::{self, Cursor, Write};
use std::sync::{Arc, Mutex};

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

/// Returns all that a server writes for this input.
pub(super) fn served(library: &Arc<Library>, input: &[u8]) -> String {
    let output = SharedOutput::default();
    serve(
        &Server::new(Arc::clone(library), Settings::default()),
        Cursor::new(input.to_vec()),
        output.clone(),
        None,
    )
    .unwrap();
    let output = output.0.lock().unwrap();
    String::from_utf8(output.clone()).unwrap()
}
