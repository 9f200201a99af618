//! What a prompt attaches to its messages: files, of which only the paths are in the prompt, and
//! addresses.

use super::diagnostic::{Diagnostic, Position};
use crate::wording::quoted;
use std::fmt::Write;

/// One of the `attachments` in the frontmatter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttachmentPath {
    /// As written: relative to the prompt's file, or an address that begins with `https://`.
    pub path: String,
    /// Where it is written.
    pub position: Position,
}

/// An attachment that has been read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    /// The name of the file, or its path if another one has the same name; or the address.
    pub name: String,
    /// What it holds.
    pub content: Content,
}

/// What an [`Attachment`] holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// A text.
    Text(String),
    /// An image.
    Image(Media),
    /// A sound.
    Audio(Media),
    /// Nothing: only its address is known.
    Address,
}

/// An image or a sound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Media {
    /// Its MIME type.
    pub mime_type: &'static str,
    /// All of it.
    pub bytes: Vec<u8>,
    /// The absolute path of its file.
    pub path: String,
}

/// The suffixes of images and sounds, with their MIME types.
const IMAGES: [(&str, &str); 5] = [
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("gif", "image/gif"),
    ("webp", "image/webp"),
];
const SOUNDS: [(&str, &str); 4] = [
    ("mp3", "audio/mpeg"),
    ("wav", "audio/wav"),
    ("ogg", "audio/ogg"),
    ("flac", "audio/flac"),
];

impl AttachmentPath {
    /// Whether it is an address, of which nothing is read.
    ///
    /// # Errors
    /// It is an address of another kind than `https:`.
    pub fn is_address(&self) -> Result<bool, Diagnostic> {
        match self.path.split_once("://") {
            None => Ok(false),
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("https") && is_address(rest) => {
                Ok(true)
            }
            Some(_) => Err(self.problem(
                "is not an address that begins with `https://`",
                "correct it, or write the path of a file",
            )),
        }
    }

    /// The last part of the path.
    pub fn file_name(&self) -> &str {
        self.path
            .rsplit(['/', std::path::MAIN_SEPARATOR])
            .next()
            .unwrap_or(&self.path)
    }

    /// What a file holds, by the suffix of its name. `path` is its absolute path.
    ///
    /// # Errors
    /// It is neither an image, nor a sound, nor text.
    pub fn content(&self, bytes: Vec<u8>, path: String) -> Result<Content, Diagnostic> {
        let ending = self
            .file_name()
            .rsplit_once('.')
            .map_or("", |(_, ending)| ending);
        let of = |endings: &[(&str, &'static str)]| {
            endings
                .iter()
                .find(|(known, _)| known.eq_ignore_ascii_case(ending))
                .map(|(_, mime_type)| *mime_type)
        };
        if let Some(mime_type) = of(&IMAGES) {
            return Ok(Content::Image(Media {
                mime_type,
                bytes,
                path,
            }));
        }
        if let Some(mime_type) = of(&SOUNDS) {
            return Ok(Content::Audio(Media {
                mime_type,
                bytes,
                path,
            }));
        }
        let text = String::from_utf8(bytes)
            .ok()
            .filter(|text| !text.contains('\0'));
        text.map(Content::Text).ok_or_else(|| {
            self.problem(
                "is neither an image (png, jpg, gif, webp) nor audio (mp3, wav, ogg, flac), and its text is not UTF-8",
                "convert it, or write its path into the prompt for the agent to read",
            )
        })
    }

    /// What is wrong with it, in a clause that goes on after its name, and the fix.
    pub fn problem(&self, what: &str, fix: &str) -> Diagnostic {
        Diagnostic::error(
            Some(self.position),
            format!("the attachment {} {what}", quoted(&self.path)),
            fix,
        )
    }
}

/// Whether this may follow `https://`.
fn is_address(rest: &str) -> bool {
    rest.starts_with(|first: char| first.is_ascii_alphanumeric() || first == '[')
        && !rest.contains(|letter: char| letter.is_whitespace() || letter.is_control())
}

impl Attachment {
    /// The MIME type of a text.
    pub fn text_mime_type(&self) -> &'static str {
        let is_markdown = self
            .name
            .rsplit_once('.')
            .is_some_and(|(_, ending)| ending.eq_ignore_ascii_case("md"));
        if is_markdown {
            "text/markdown"
        } else {
            "text/plain"
        }
    }

    /// The text form: the text in a fenced block after its name, or a line that says where the rest
    /// is.
    pub fn to_text(&self) -> String {
        let Attachment { name, content } = self;
        match content {
            Content::Image(media) => format!("Attached image: {}", media.path),
            Content::Audio(media) => format!("Attached audio: {}", media.path),
            Content::Address => format!("Attached link: {name}"),
            Content::Text(text) => {
                let text = text.strip_prefix('\u{feff}').unwrap_or(text);
                let longest = text
                    .split(|letter| letter != '`')
                    .map(str::len)
                    .max()
                    .unwrap_or(0);
                let fence = "`".repeat(3.max(longest + 1));
                let end = if text.is_empty() || text.ends_with('\n') {
                    ""
                } else {
                    "\n"
                };
                let mut form = String::with_capacity(text.len() + name.len() + 2 * fence.len() + 8);
                _ = write!(form, "{name}:\n{fence}\n{text}{end}{fence}");
                form
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(path: &str) -> AttachmentPath {
        AttachmentPath {
            path: path.to_owned(),
            position: Position::START,
        }
    }

    #[test]
    fn the_fence_around_a_text_is_longer_than_any_in_it() {
        let form = |text: &str| {
            Attachment {
                name: "a.md".to_owned(),
                content: Content::Text(text.to_owned()),
            }
            .to_text()
        };
        assert_eq!(form("A\n"), "a.md:\n```\nA\n```");
        assert_eq!(form("A"), "a.md:\n```\nA\n```");
        assert_eq!(form(""), "a.md:\n```\n```");
        assert_eq!(form("```\nA\n```\n"), "a.md:\n````\n```\nA\n```\n````");
        assert_eq!(form("`````"), "a.md:\n``````\n`````\n``````");
    }

    #[test]
    fn the_ending_says_what_a_file_holds() {
        let content =
            |name: &str, bytes: &[u8]| path(name).content(bytes.to_vec(), "/p".to_owned());
        let mime_type = |name: &str| match content(name, b"\0") {
            Ok(Content::Image(media) | Content::Audio(media)) => media.mime_type,
            other => panic!("{name}: {other:?}"),
        };
        for (name, want) in [
            ("a.png", "image/png"),
            ("a/b.JPG", "image/jpeg"),
            ("a.jpeg", "image/jpeg"),
            ("a.gif", "image/gif"),
            ("a.webp", "image/webp"),
            ("a.mp3", "audio/mpeg"),
            ("a.wav", "audio/wav"),
            ("a.ogg", "audio/ogg"),
            ("a.flac", "audio/flac"),
        ] {
            assert_eq!(mime_type(name), want, "{name}");
        }
        for name in ["a.md", "Makefile", ".env", "png"] {
            assert_eq!(
                content(name, b"A"),
                Ok(Content::Text("A".to_owned())),
                "{name}"
            );
            assert!(
                content(name, b"\xff").is_err() && content(name, b"A\0").is_err(),
                "{name}"
            );
        }
    }

    #[test]
    fn only_https_is_an_address() {
        for (written, want) in [
            ("https://example.com/a", Some(true)),
            ("HTTPS://x", Some(true)),
            ("a.png", Some(false)),
            ("../a:b", Some(false)),
        ] {
            assert_eq!(path(written).is_address().ok(), want, "{written}");
        }
        for refused in [
            "http://example.com",
            "file:///etc/passwd",
            "https://",
            "https://a b",
            "https:///etc",
        ] {
            assert!(path(refused).is_address().is_err(), "{refused}");
        }
    }
}
