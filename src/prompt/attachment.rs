//! Attachments of a prompt: files and URLs.

use super::diagnostic::{Diagnostic, Position};
use crate::input::without_bom;
use crate::wording::quoted;

/// An entry of `attachments` in the frontmatter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttachmentPath {
    /// The path as written, relative to the prompt's file, or an `https://` URL.
    pub path: String,
    /// Where the entry is in the prompt's file.
    pub position: Position,
}

/// An attachment that has been read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    /// The file name, the path if another attachment has the same file name, or the URL.
    pub name: String,
    /// The contents of the file.
    pub content: Content,
}

/// The contents of an [`Attachment`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// Text.
    Text(String),
    /// An image.
    Image(Media),
    /// Audio.
    Audio(Media),
    /// A URL, which is not fetched.
    Url,
}

/// An image or audio file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Media {
    /// The MIME type.
    pub mime_type: &'static str,
    /// The contents of the file.
    pub bytes: Vec<u8>,
    /// The absolute path of the file.
    pub path: String,
}

/// The file extensions of images and their MIME types.
const IMAGE_MIME_TYPES: [(&str, &str); 5] = [
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("gif", "image/gif"),
    ("webp", "image/webp"),
];

/// The file extensions of audio files and their MIME types.
const AUDIO_MIME_TYPES: [(&str, &str); 4] = [
    ("mp3", "audio/mpeg"),
    ("wav", "audio/wav"),
    ("ogg", "audio/ogg"),
    ("flac", "audio/flac"),
];

impl AttachmentPath {
    /// Returns whether the attachment is a URL rather than a file.
    ///
    /// # Errors
    /// Fails if it is a URL with a scheme other than `https`, or without a valid host.
    pub fn is_url(&self) -> Result<bool, Diagnostic> {
        let Some((scheme, after_scheme)) = self.path.split_once("://") else {
            return Ok(false);
        };
        if scheme.eq_ignore_ascii_case("https") && may_follow_scheme(after_scheme) {
            return Ok(true);
        }
        Err(self.error(
            "is not an `https://` URL",
            "correct it, or write the path of a file",
        ))
    }

    /// Returns the last component of the path.
    pub fn file_name(&self) -> &str {
        self.path
            .rsplit(['/', std::path::MAIN_SEPARATOR])
            .next()
            .unwrap_or(&self.path)
    }

    /// Converts the bytes of the file to its contents, depending on its extension. `path` is the
    /// absolute path of the file.
    ///
    /// # Errors
    /// Fails if the file isn't an image, audio or UTF-8 text.
    pub fn to_content(&self, bytes: Vec<u8>, path: String) -> Result<Content, Diagnostic> {
        if let Some(mime_type) = self.find_mime_type(&IMAGE_MIME_TYPES) {
            return Ok(Content::Image(Media {
                mime_type,
                bytes,
                path,
            }));
        }
        if let Some(mime_type) = self.find_mime_type(&AUDIO_MIME_TYPES) {
            return Ok(Content::Audio(Media {
                mime_type,
                bytes,
                path,
            }));
        }
        match String::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => Ok(Content::Text(text)),
            _ => Err(self.error(
                "is neither an image (png, jpg, gif, webp) nor audio (mp3, wav, ogg, flac), and its text is not UTF-8",
                "convert it, or write its path into the prompt for the agent to read",
            )),
        }
    }

    /// Looks up the file's extension in a table of MIME types.
    fn find_mime_type(&self, mime_types: &[(&str, &'static str)]) -> Option<&'static str> {
        let file_extension = extension(self.file_name());
        for (extension, mime_type) in mime_types {
            if extension.eq_ignore_ascii_case(file_extension) {
                return Some(*mime_type);
            }
        }
        None
    }

    /// Creates an error about the attachment. `predicate` completes the message, e.g.
    /// `cannot be read` in ``the attachment `a.png` cannot be read``.
    pub fn error(&self, predicate: &str, fix: &str) -> Diagnostic {
        let message = format!("the attachment {} {predicate}", quoted(&self.path));
        Diagnostic::error(Some(self.position), message, fix)
    }
}

/// Returns whether `rest` can follow `https://` in a URL: it starts with a host such as
/// `example.com` or `[::1]`, and contains no whitespace or control characters.
fn may_follow_scheme(rest: &str) -> bool {
    rest.starts_with(|first: char| first.is_ascii_alphanumeric() || first == '[')
        && !rest.contains(|character: char| character.is_whitespace() || character.is_control())
}

/// Returns the extension of a file name, or an empty string if it contains no dot. Unlike
/// `Path::extension`, returns `env` for `.env`.
fn extension(file_name: &str) -> &str {
    match file_name.rsplit_once('.') {
        Some((_, extension)) => extension,
        None => "",
    }
}

impl Attachment {
    /// Returns the MIME type to use if the contents are text.
    pub fn text_mime_type(&self) -> &'static str {
        if extension(&self.name).eq_ignore_ascii_case("md") {
            "text/markdown"
        } else {
            "text/plain"
        }
    }

    /// Formats the attachment as text: for text, the name and a fenced code block; for anything
    /// else, a line with the path or URL.
    pub fn to_text(&self) -> String {
        let name = &self.name;
        match &self.content {
            Content::Image(media) => format!("Attached image: {}", media.path),
            Content::Audio(media) => format!("Attached audio: {}", media.path),
            Content::Url => format!("Attached link: {name}"),
            Content::Text(text) => format!("{name}:\n{}", fenced(text)),
        }
    }
}

/// Formats text as a fenced code block, without its byte order mark.
///
/// The fence is longer than any run of backticks in the text, so that the text can't close it.
fn fenced(text: &str) -> String {
    let text = without_bom(text);
    let backtick_runs = text.split(|character| character != '`');
    let longest_run = backtick_runs.map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(3.max(longest_run + 1));
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
        path(name).to_content(bytes.to_vec(), "/p".to_owned())
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
            assert_eq!(path(written).is_url().ok(), want, "{written}");
        }
        for refused in [
            "http://example.com",
            "file:///etc/passwd",
            "https://",
            "https://a b",
            "https:///etc",
        ] {
            assert!(path(refused).is_url().is_err(), "{refused}");
        }
    }
}
