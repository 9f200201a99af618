//! What an operator asks of a server: whether it can serve, and how much.

use super::Server;

impl Server {
    /// Why a folder of prompts cannot be read at this moment, for each such folder; the library is served if there is none. The
    /// texts name paths.
    pub fn missing_folders(&self) -> Vec<String> {
        self.library.view().missing().iter().map(ToString::to_string).collect()
    }

    /// How many prompts the library has, broken ones included. It reads folders, but no files.
    pub fn prompt_count(&self) -> usize {
        self.library.view().list().entries.len()
    }
}
