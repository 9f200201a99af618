//! Measures the memory of git's processes, and ends them.

use std::collections::BTreeMap;
use std::fs;
use std::process::Child;

/// A process and all that it has started, such as git's helpers for `https` and `ssh`.
///
/// Only Linux says which they are, and how much memory they take. On other systems, this is the
/// process alone, without its memory.
pub(super) struct ProcessTree {
    /// The ids of all, the first one's first.
    #[cfg(target_os = "linux")]
    ids: Vec<u32>,
    /// The resident memory of all, in bytes.
    pub(super) memory: u64,
}

/// The parts of a file `/proc/ID/status` that are used.
struct Status {
    /// The id of the process that has started this one.
    parent: u32,
    /// Resident memory, in bytes.
    memory: u64,
}

impl ProcessTree {
    /// Returns a process and all its descendants at this moment. The process itself is the first.
    pub(super) fn of(root: &Child) -> ProcessTree {
        let statuses = statuses();
        let mut ids = vec![root.id()];
        let mut memory = 0;
        let mut next = 0;
        while let Some(&id) = ids.get(next) {
            memory += statuses.get(&id).map_or(0, |status| status.memory);
            let children = statuses.iter().filter(|(_, status)| status.parent == id);
            ids.extend(children.map(|(child, _)| *child));
            next += 1;
        }
        ProcessTree {
            #[cfg(target_os = "linux")]
            ids,
            memory,
        }
    }

    /// Kills all processes, and waits until the first, `root`, has ended.
    pub(super) fn end(self, root: &mut Child) {
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

/// Returns the status of each process by its id; nothing on a system without `/proc`.
fn statuses() -> BTreeMap<u32, Status> {
    let mut statuses = BTreeMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Ok(id) = entry.file_name().to_string_lossy().parse() else {
            continue; // only the folders of processes have a number as their name
        };
        if let Ok(text) = fs::read_to_string(entry.path().join("status")) {
            statuses.insert(id, parse_status(&text));
        }
    }
    statuses
}

/// Parses the text of a file `/proc/ID/status`.
fn parse_status(text: &str) -> Status {
    Status {
        parent: number_of("PPid:", text) as u32,
        memory: number_of("VmRSS:", text) * 1024,
    }
}

/// Returns the number in a line such as `VmRSS:  1234 kB`, or 0 if there is no such line.
fn number_of(key: &str, text: &str) -> u64 {
    for line in text.lines() {
        if let Some(value) = line.strip_prefix(key) {
            let number = value.split_whitespace().next().unwrap_or_default();
            return number.parse().unwrap_or(0);
        }
    }
    0
}
