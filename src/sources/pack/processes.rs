//! Measures the memory of git's processes, and ends them.

use std::collections::BTreeMap;
use std::fs;
use std::process::Child;

/// A process and all that it has started, such as git's helpers for `https` and `ssh`.
///
/// Only Linux says which they are, and how much memory they take. On other systems, this is the
/// process alone, without its memory.
pub(super) struct ProcessTree {
    #[cfg(target_os = "linux")]
    ids: Vec<u32>,
    /// The resident memory of all, in bytes.
    pub(super) memory: u64,
}

/// What is used of `/proc/ID/status`.
struct Status {
    parent: u32,
    memory: u64,
}

impl ProcessTree {
    /// Returns the processes that descend from this one at this moment.
    pub(super) fn of(root: &Child) -> ProcessTree {
        let all = statuses();
        let mut ids = vec![root.id()];
        let mut next = 0;
        while let Some(&id) = ids.get(next) {
            let children = all.iter().filter(|(_, status)| status.parent == id);
            ids.extend(children.map(|(child, _)| *child));
            next += 1;
        }
        let memory = ids
            .iter()
            .filter_map(|id| all.get(id))
            .map(|status| status.memory)
            .sum();
        ProcessTree {
            #[cfg(target_os = "linux")]
            ids,
            memory,
        }
    }

    /// Kills all processes, and waits for the end of the first.
    pub(super) fn end(self, root: &mut Child) {
        _ = root.kill();
        #[cfg(target_os = "linux")]
        for id in &self.ids[1..] {
            let id = rustix::process::Pid::from_raw(*id as i32);
            _ = id.map(|id| rustix::process::kill_process(id, rustix::process::Signal::KILL));
        }
        _ = root.wait();
    }
}

/// Returns all processes of the system by their ids, as far as it tells.
fn statuses() -> BTreeMap<u32, Status> {
    let mut statuses = BTreeMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(id) = entry.file_name().to_str().and_then(|id| id.parse().ok()) else {
            continue;
        };
        if let Ok(text) = fs::read_to_string(entry.path().join("status")) {
            statuses.insert(id, parse_status(&text));
        }
    }
    statuses
}

fn parse_status(text: &str) -> Status {
    let number = |key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key));
        let word = line.and_then(|line| line.split_whitespace().next());
        word.and_then(|word| word.parse().ok()).unwrap_or(0)
    };
    Status {
        parent: number("PPid:") as u32,
        memory: number("VmRSS:") * 1024,
    }
}
