//! The attachments of a prompt: files, of which the prompt has only the paths, and addresses.

use super::diagnostic::{Diagnostic, Position};
use crate::input::without_bom;
use crate::wording::quoted;

/// One of the `attachments` in the frontmatter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttachmentPath {
    /// The path as written, relative to the prompt's file; or an address that begins with
    /// `https://`.
    pub path: String,
    /// Where it is written.
    pub position: Position,
}

/// An attachment that has been read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    /// The name of the file, or its path if another one has the same name; or the address.
    pub name: String,
    /// The content of the file.
    pub content: Content,
}

/// The content of an [`Attachment`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// A text.
    Text(String),
    /// An image.
    Image(Media),
    /// A sound.
    Audio(Media),
    /// Only an address, which is not read.
    Address,
}

/// An image or a sound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Media {
    /// Its MIME type.
    pub mime_type: &'static str,
    /// The whole file.
    pub bytes: Vec<u8>,
    /// The absolute path of its file.
    pub path: String,
}

/// The suffixes of images, with their MIME types.
const IMAGES: [(&str, &str); 5] = [
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("gif", "image/gif"),
    ("webp", "image/webp"),
];

/// The suffixes of sounds, with their MIME types.
const SOUNDS: [(&str, &str); 4] = [
    ("mp3", "audio/mpeg"),
    ("wav", "audio/wav"),
    ("ogg", "audio/ogg"),
    ("flac", "audio/flac"),
];

impl AttachmentPath {
    /// Returns whether the attachment is an address, which is not read.
    ///
    /// # Errors
    /// It is an address of another kind than `https:`.
    pub fn is_address(&self) -> Result<bool, Diagnostic> {
        let Some((scheme, after_scheme)) = self.path.split_once("://") else {
            return Ok(false);
        };
        if scheme.eq_ignore_ascii_case("https") && may_follow_scheme(after_scheme) {
            return Ok(true);
        }
        Err(self.problem(
            "is not an address that begins with `https://`",
            "correct it, or write the path of a file",
        ))
    }

    /// Returns the last part of the path.
    pub fn file_name(&self) -> &str {
        self.path
            .rsplit(['/', std::path::MAIN_SEPARATOR])
            .next()
            .unwrap_or(&self.path)
    }

    /// Returns the content of the file, whose kind depends on the suffix of its name. `path` is its
    /// absolute path.
    ///
    /// # Errors
    /// It is neither an image, nor a sound, nor text.
    pub fn content(&self, bytes: Vec<u8>, path: String) -> Result<Content, Diagnostic> {
        if let Some(mime_type) = self.find_mime_type(&IMAGES) {
            return Ok(Content::Image(Media {
                mime_type,
                bytes,
                path,
            }));
        }
        if let Some(mime_type) = self.find_mime_type(&SOUNDS) {
            return Ok(Content::Audio(Media {
                mime_type,
                bytes,
                path,
            }));
        }
        match String::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => Ok(Content::Text(text)),
            _ => Err(self.problem(
                "is neither an image (png, jpg, gif, webp) nor audio (mp3, wav, ogg, flac), and its text is not UTF-8",
                "convert it, or write its path into the prompt for the agent to read",
            )),
        }
    }

    /// Returns the MIME type of the file, if its suffix is one of these.
    fn find_mime_type(&self, suffixes: &[(&str, &'static str)]) -> Option<&'static str> {
        let suffix = suffix(self.file_name());
        for (known, mime_type) in suffixes {
            if known.eq_ignore_ascii_case(suffix) {
                return Some(*mime_type);
            }
        }
        None
    }

    /// Creates an error about the attachment. `predicate` follows its path in the message: `cannot be
    /// read` for ``the attachment `a.png` cannot be read``.
    pub fn problem(&self, predicate: &str, fix: &str) -> Diagnostic {
        let message = format!("the attachment {} {predicate}", quoted(&self.path));
        Diagnostic::error(Some(self.position), message, fix)
    }
}

/// Returns whether a text may follow `https://` in an address: it begins with a host such as
/// `example.com` or `[::1]`, and has no blanks or control characters.
fn may_follow_scheme(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphanumeric() || first == '[')
        && !text.contains(|letter: char| letter.is_whitespace() || letter.is_control())
}

/// Returns what follows the last dot of a file name; without a dot, nothing.
fn suffix(file_name: &str) -> &str {
    match file_name.rsplit_once('.') {
        Some((_, suffix)) => suffix,
        None => "",
    }
}

impl Attachment {
    /// Returns the MIME type of a text.
    pub fn text_mime_type(&self) -> &'static str {
        if suffix(&self.name).eq_ignore_ascii_case("md") {
            "text/markdown"
        } else {
            "text/plain"
        }
    }

    /// Returns the text form: the name of a text and the text in a fenced block, or one line with
    /// the path or address of anything else.
    pub fn to_text(&self) -> String {
        let name = &self.name;
        match &self.content {
            Content::Image(media) => format!("Attached image: {}", media.path),
            Content::Audio(media) => format!("Attached audio: {}", media.path),
            Content::Address => format!("Attached link: {name}"),
            Content::Text(text) => format!("{name}:\n{}", fenced(text)),
        }
    }
}

/// Returns a text as a fenced block of Markdown, without the byte order mark. The fence has at least
/// three backticks, and more than any row of them in the text, so that the text cannot end the
/// block.
fn fenced(text: &str) -> String {
    let text = without_bom(text);
    let backtick_rows = text.split(|letter| letter != '`');
    let longest_row = backtick_rows.map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(3.max(longest_row + 1));
    let line_end = if text.is_empty() || text.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    format!("{fence}\n{text}{line_end}{fence}")
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
        for (text, form) in [
            ("A\n", "```\nA\n```"),
            ("A", "```\nA\n```"),
            ("", "```\n```"),
            ("```\nA\n```\n", "````\n```\nA\n```\n````"),
            ("`````", "``````\n`````\n``````"),
        ] {
            let attachment = Attachment {
                name: "a.md".to_owned(),
                content: Content::Text(text.to_owned()),
            };
            assert_eq!(attachment.to_text(), format!("a.md:\n{form}"));
        }
    }

    fn content(name: &str, bytes: &[u8]) -> Result<Content, Diagnostic> {
        path(name).content(bytes.to_vec(), "/p".to_owned())
    }

    #[test]
    fn the_ending_says_what_a_file_holds() {
        for (name, mime_type) in [
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
            match content(name, b"\0") {
                Ok(Content::Image(media) | Content::Audio(media)) => {
                    assert_eq!(media.mime_type, mime_type, "{name}")
                }
                other => panic!("{name}: {other:?}"),
            }
        }
        for name in ["a.md", "Makefile", ".env", "png"] {
            let text = Content::Text("A".to_owned());
            assert_eq!(content(name, b"A"), Ok(text), "{name}");
            assert!(content(name, b"\xff").is_err(), "{name}");
            assert!(content(name, b"A\0").is_err(), "{name}");
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
