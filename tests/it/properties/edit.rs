//! Parts of any file are changed as asked or refused, and every line that is not concerned stays as it is.

use prompt_expander::prompt::{Argument, Body, Format, Name, Parts, Prompt, Role, edit};

/// The file and the new text, separated by this.
const SEPARATOR: &[u8] = b"\n====\n";

/// The same for a file and a text in one.
pub(super) fn check_bytes(bytes: &[u8]) {
    let at = bytes.windows(SEPARATOR.len()).position(|window| window == SEPARATOR);
    let (file, text) = at.map_or((bytes, &b"a"[..]), |at| (&bytes[..at], &bytes[at + SEPARATOR.len()..]));
    check(&String::from_utf8_lossy(file), &String::from_utf8_lossy(text));
}

pub(super) fn check(file: &str, text: &str) {
    let texts = || vec![text.to_owned(), "b".to_owned()];
    let argument = |description: &str| Argument {
        name: "a".to_owned(),
        description: Some(description.to_owned()).filter(|text| !text.is_empty()),
        required: true,
        ..Argument::default()
    };
    // Spaces around it are dropped, and of tags those that are empty or the same.
    let read_argument = argument(text.trim());
    let mut read_tags = texts();
    read_tags.retain(|tag| !tag.is_empty());
    read_tags.dedup();
    for (key, parts) in [
        ("title", Parts { title: Some(Some(text.to_owned())), ..Parts::default() }),
        ("title", Parts { title: Some(None), ..Parts::default() }),
        ("description", Parts { description: Some(Some(text.to_owned())), ..Parts::default() }),
        ("description", Parts { description: Some(None), ..Parts::default() }),
        ("arguments", Parts { arguments: Some(Some(vec![argument(text)])), ..Parts::default() }),
        ("arguments", Parts { arguments: Some(None), ..Parts::default() }),
        ("tags", Parts { tags: Some(Some(texts())), ..Parts::default() }),
        ("tags", Parts { tags: Some(None), ..Parts::default() }),
    ] {
        let Some((before, after, edited)) = edited(file, &parts) else { continue };
        only_lines_of(key, file, &edited);
        let same = |key: &str, is_same: bool| assert!(is_same, "{key}: {file:?} became {edited:?}");
        same("body", before.messages.iter().map(|it| it.body()).eq(after.messages.iter().map(|it| it.body())));
        same("arguments", key == "arguments" || before.arguments == after.arguments);
        same("tags", key == "tags" || before.tags == after.tags);
        same("metadata", before.metadata == after.metadata);
        for (asked, read) in [(&parts.title, &after.title), (&parts.description, &after.description)] {
            let asked = asked.iter().flatten().map(|text| text.trim()).find(|text| !text.is_empty());
            same("text", asked.is_none_or(|asked| read.as_deref() == Some(asked)));
        }
        let tags = parts.tags.as_ref().map(|tags| if tags.is_some() { &read_tags[..] } else { &[] });
        same("asked tags", tags.is_none_or(|tags| tags == after.tags));
        let arguments = parts.arguments.as_ref();
        let arguments = arguments.map(|it| if it.is_some() { std::slice::from_ref(&read_argument) } else { &[] });
        same("asked arguments", arguments.is_none_or(|arguments| arguments == after.arguments));
    }
    for body in [
        Body::Text(text.to_owned()),
        Body::Messages(vec![(Role::User, text.to_owned())]),
        Body::Messages(vec![(Role::Assistant, text.to_owned()), (Role::User, text.to_owned())]),
    ] {
        let Some((before, after, edited)) = edited(file, &Parts { body: Some(body), ..Parts::default() }) else {
            continue;
        };
        let same =
            (&before.arguments, &before.tags, &before.metadata) == (&after.arguments, &after.tags, &after.metadata);
        assert!(same, "{file:?} became {edited:?}");
    }
}

/// The prompts before and after a change, and the new file; `None` if it is refused. Doing it again changes nothing.
fn edited(file: &str, parts: &Parts) -> Option<(Prompt, Prompt, String)> {
    let edited = edit(file, parts).ok()?;
    assert_eq!(edit(&edited, parts).as_ref(), Ok(&edited), "{file:?}, {parts:?}");
    let read = |text: &str| Format::Markdown.parse(Name::new("p").unwrap(), text.as_bytes());
    Some((read(file).ok()?, read(&edited).ok()?, edited))
}

/// Between the lines that both texts begin with and those that both end with, the first text has at most one key.
fn only_lines_of(key: &str, before: &str, after: &str) {
    fn lines(text: &str) -> Vec<&str> {
        text.strip_prefix('\u{feff}').unwrap_or(text).split('\n').collect()
    }
    assert_eq!(before.starts_with('\u{feff}'), after.starts_with('\u{feff}'));
    let (old, new) = (lines(before), lines(after));
    let same = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let rest = old.len().min(new.len()) - same;
    let end = old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(old, new)| old == new).count();
    // A value of several lines may go on at the beginning of a line.
    let is_key = |line: &&&str| {
        let key = line.split_once(':').map(|(key, _)| key);
        key.is_some_and(|key| !key.starts_with([' ', '\t', '#', '-']) && !key.contains([']', '}', '#']))
    };
    let keys: Vec<&&str> = old[same..old.len() - end].iter().filter(is_key).collect();
    assert!(keys.len() < 2, "{before:?} became {after:?}");
    let is_own = keys.iter().all(|line| line.trim_start_matches(['\'', '"']).starts_with(key));
    assert!(is_own, "{before:?} became {after:?}");
}
