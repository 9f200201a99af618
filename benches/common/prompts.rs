//! Prompt files, the same bytes each time: two that the benches expand, and others as people write
//! them.

use std::fmt::Write;
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use tempfile::TempDir;

/// The name of a prompt of 300 bytes.
pub(crate) const SMALL: &str = "research";

/// The name of a prompt of 8 KiB.
pub(crate) const LONG: &str = "long";

/// How long the long prompt is, in bytes.
const LENGTH: usize = 8 * 1024;

/// How long an input is that one pastes a whole file into, in bytes.
pub(crate) const LARGE: usize = 1024 * 1024;

/// The program keeps what it has read of a file whose last change is older than this, with some
/// time to spare.
const SETTLED: Duration = Duration::from_millis(2050);

/// How many files a folder has.
const IN_FOLDER: usize = 100;

const WORDS: [&str; 32] = [
    "answer",
    "assumption",
    "branch",
    "careful",
    "change",
    "clear",
    "complete",
    "constraint",
    "decision",
    "draft",
    "each",
    "evidence",
    "example",
    "explain",
    "failure",
    "finding",
    "following",
    "for",
    "given",
    "in",
    "input",
    "interface",
    "naïve",
    "of",
    "question",
    "review",
    "risk",
    "short",
    "source",
    "summary",
    "the",
    "with",
];

/// A folder of prompt files. It is gone when this is dropped.
#[derive(Debug)]
pub(crate) struct Prompts {
    dir: TempDir,
    /// How many folders there are, the outermost one included.
    pub(crate) folders: usize,
}

impl Prompts {
    /// This many files, of which the first two are [`SMALL`] and [`LONG`]; they are so old that the
    /// program keeps what it reads of them.
    pub(crate) fn generate(count: usize) -> Prompts {
        Prompts::of(count, |name| format!("{name}.md"))
    }

    /// The same files, each as the `SKILL.md` of a folder, as agents have them: this many folders
    /// in one.
    pub(crate) fn skills(count: usize) -> Prompts {
        Prompts::of(count, |name| format!("{}/SKILL.md", name.replace('/', "-")))
    }

    fn of(count: usize, path: impl Fn(&str) -> String) -> Prompts {
        // The folders above are watched, too, for one that takes the place of this. So not where
        // everybody writes.
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
        let prompts = Prompts {
            dir,
            folders: count.div_ceil(IN_FOLDER),
        };
        for number in 0..count {
            let (name, text) = match number {
                0 => (SMALL.to_owned(), small()),
                1 => (LONG.to_owned(), long()),
                _ => (name(number), text(number)),
            };
            let path = prompts.path().join(path(&name));
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder in it");
            fs::write(path, text).expect("a file in it");
        }
        prompts.settle();
        prompts
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Waits until no file and no folder has changed for so long that its times can be relied on.
    fn settle(&self) {
        let mut folders = vec![self.path().to_owned()];
        let mut all: Vec<PathBuf> = Vec::new();
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).expect("a folder") {
                let path = entry.expect("an entry").path();
                if path.is_dir() {
                    folders.push(path)
                } else {
                    all.push(path)
                }
            }
            all.push(folder);
        }
        for path in all {
            let changed = changed(&fs::metadata(path).expect("a file"));
            while changed.elapsed().is_ok_and(|age| age < SETTLED) {
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    }
}

/// When a file was last changed by anybody, its times and its name included, where the system
/// tells.
fn changed(metadata: &Metadata) -> SystemTime {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let (seconds, nanoseconds) = (
            metadata.ctime().unsigned_abs(),
            metadata.ctime_nsec().unsigned_abs(),
        );
        SystemTime::UNIX_EPOCH + Duration::from_secs(seconds) + Duration::from_nanos(nanoseconds)
    }
    #[cfg(not(unix))]
    metadata.modified().expect("a time")
}

/// The text of [`SMALL`].
pub(crate) fn small() -> String {
    "---\ndescription: Research a topic and give a short summary with its main sources.\n---\nYou are a focused \
     researcher. Look into the topic below and return:\n- a summary of 3 to 5 sentences\n- 3 main findings\n- names or \
     links of sources, if the context has any\n\nTopic:\n{{input}}\n"
        .to_owned()
}

/// The text of [`LONG`]: its placeholder is in the middle.
pub(crate) fn long() -> String {
    let mut text = "---\ntitle: Long\ndescription: A prompt as long as a guide.\n---\n".to_owned();
    let mut words = Words(1);
    words.paragraphs(&mut text, LENGTH / 2);
    text.push_str("Input:\n{{input}}\n\n");
    words.paragraphs(&mut text, LENGTH - 3);
    // Whole letters, and exactly as long as it should be.
    let end = (0..LENGTH)
        .rev()
        .find(|&end| text.is_char_boundary(end))
        .expect("a letter");
    text.truncate(end);
    while text.len() < LENGTH {
        text.push('.');
    }
    text
}

/// An input of 1 MiB: lines of words, some of them in quotes, which JSON escapes.
pub(crate) fn mebibyte() -> String {
    let (mut text, mut words) = (String::new(), Words(2));
    while text.len() < LARGE {
        let [a, b, c] = [(); 3].map(|()| words.next());
        _ = writeln!(text, "{a} \"{b}\" {c} {a} {b} {c} {c} {a} {b}");
    }
    let end = (0..=LARGE)
        .rev()
        .find(|&end| text.is_char_boundary(end))
        .expect("a letter");
    text.truncate(end);
    text
}

/// Where a file lies: those of one folder in a row, the first of them at the top.
fn name(number: usize) -> String {
    let mut words = Words(number as u64);
    let (verb, noun) = (words.next(), words.next());
    let folder = number / IN_FOLDER;
    match folder {
        0 => format!("{verb}-{noun}-{number}"),
        _ => format!("team-{folder}/{verb}-{noun}-{number}"),
    }
}

/// A file as people write them: 300 bytes to 3 KiB, most with arguments and tags; of eight, one has
/// a description in several lines.
fn text(number: usize) -> String {
    let mut words = Words(number as u64);
    let mut text = "---\n".to_owned();
    _ = writeln!(text, "title: \"{}\"", words.sentence(3));
    let (first, second) = (words.sentence(6), words.sentence(6));
    _ = match number % 8 {
        0 => writeln!(text, "description: >-\n  {first}\n  {second}"),
        1..4 => writeln!(text, "description: \"{first}: {second}\""),
        _ => writeln!(text, "description: {first} {second}"),
    };
    if !number.is_multiple_of(3) {
        _ = writeln!(
            text,
            "arguments:\n  - name: topic\n    description: {}\n    required: true",
            words.sentence(4)
        );
        _ = writeln!(
            text,
            "  - name: depth\n    default: short\n    choices: [short, {}]",
            words.next()
        );
    }
    match number % 4 {
        0 => {}
        1 => _ = writeln!(text, "tags:\n  - {}\n  - {}", words.next(), words.next()),
        _ => _ = writeln!(text, "tags: [{}, {}]", words.next(), words.next()),
    }
    _ = writeln!(text, "---\n# {}\n", words.sentence(4));
    let length = text.len() + words.below(2500);
    words.paragraphs(&mut text, length);
    text.push_str(if number.is_multiple_of(3) {
        "{{input}}\n"
    } else {
        "{{topic}}, {{depth}}\n"
    });
    text
}

/// Words in an order that looks like none, and is the same each time.
struct Words(u64);

impl Words {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }

    fn next(&mut self) -> &'static str {
        WORDS[self.below(WORDS.len())]
    }

    fn sentence(&mut self, length: usize) -> String {
        let words: Vec<&str> = (0..length).map(|_| self.next()).collect();
        words.join(" ")
    }

    /// Adds paragraphs until the text has this many bytes, or a few more.
    fn paragraphs(&mut self, text: &mut String, length: usize) {
        while text.len() < length {
            for _ in 0..3 {
                _ = writeln!(text, "{}.", self.sentence(12));
            }
            text.push('\n');
        }
    }
}
