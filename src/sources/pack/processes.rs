//! Measures the memory of git and its child processes, and kills them.

use crate::whole_file;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Child;

/// A process and its descendants, such as git's helpers for `https` and `ssh`.
///
/// This works on Linux only. Elsewhere, it is just the process itself, and its memory is 0.
pub(super) struct ProcessTree {
    /// The process ids. The root comes first.
    #[cfg(target_os = "linux")]
    ids: Vec<u32>,
    /// The resident memory of all processes together.
    pub(super) memory_bytes: u64,
}

/// A few fields of `/proc/ID/status`.
struct Status {
    parent_id: u32,
    /// Resident memory.
    memory_bytes: u64,
}

impl ProcessTree {
    /// Takes a snapshot of `root` and its descendants.
    pub(super) fn of(root: &Child) -> ProcessTree {
        let statuses = read_statuses();
        let mut ids = vec![root.id()];
        let mut memory_bytes = 0;
        // A breadth-first search: `ids` is also the queue, and `next` the position in it.
        let mut next = 0;
        while let Some(&id) = ids.get(next) {
            memory_bytes += statuses.get(&id).map_or(0, |status| status.memory_bytes);
            let children = statuses.iter().filter(|(_, status)| status.parent_id == id);
            ids.extend(children.map(|(child, _)| *child));
            next += 1;
        }
        ProcessTree {
            #[cfg(target_os = "linux")]
            ids,
            memory_bytes,
        }
    }

    /// Kills all processes, and waits for `root` to exit.
    pub(super) fn kill(self, root: &mut Child) {
        // The first id is `root`, which `Child::kill` kills safely even if it has exited already.
        _ = root.kill();
        #[cfg(target_os = "linux")]
        for id in &self.ids[1..] {
            if let Some(id) = rustix::process::Pid::from_raw(*id as i32) {
                _ = rustix::process::kill_process(id, rustix::process::Signal::KILL);
            }
        }
        _ = root.wait();
    }
}

/// Returns the status of every process, by process id. Empty on systems without `/proc`.
fn read_statuses() -> BTreeMap<u32, Status> {
    let mut statuses = BTreeMap::new();
    for entry in whole_file::entries_of(Path::new("/proc")) {
        let Ok(id) = entry.file_name().to_string_lossy().parse() else {
            continue; // `/proc` has other entries, too
        };
        if let Ok(text) = fs::read_to_string(entry.path().join("status")) {
            statuses.insert(id, parse_status(&text));
        }
    }
    statuses
}

/// Parses the text of `/proc/ID/status`.
fn parse_status(text: &str) -> Status {
    Status {
        parent_id: find_number("PPid:", text) as u32,
        memory_bytes: find_number("VmRSS:", text) * 1024,
    }
}

/// Returns the number in the line that starts with `key`, e.g. 1234 for `VmRSS:  1234 kB`. Returns
/// 0 if there is no such line: kernel threads have no `VmRSS`.
fn find_number(key: &str, text: &str) -> u64 {
    for line in text.lines() {
        if let Some(value) = line.strip_prefix(key) {
            let number = value.split_whitespace().next().unwrap_or_default();
            return number.parse().unwrap_or(0);
        }
    }
    0
}
