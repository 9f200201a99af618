//! JSON as the wire needs it: an object whose members are not read before somebody asks for them, and texts that are
//! written without a detour.
//!
//! Most of a request is never looked at, and a long input is looked at once. So reading a line builds no tree: it checks
//! the syntax and notes where each member stands. What nobody asks for takes no memory, however it is nested.
#![deny(clippy::disallowed_methods)] // the list and the reasons are in clippy.toml

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::{Serialize, de};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// An object; its members are JSON that nobody has read yet.
///
/// Of two members of one name, the last counts.
#[derive(Debug, Clone, Default)]
pub struct Object<'j>(Vec<(Cow<'j, str>, &'j RawValue)>);

/// Why a member is not what it should be. Its `Display` follows the member's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unfit {
    /// It is something else than this.
    NoSuchType(&'static str),
    /// It is of the right type, and cannot be read.
    Unreadable(String),
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unfit::NoSuchType(wanted) => write!(f, "must be {wanted}"),
            Unfit::Unreadable(reason) => write!(f, "cannot be read: {reason}"),
        }
    }
}

impl<'j> Object<'j> {
    /// Reads an object.
    ///
    /// # Errors
    /// The text is no JSON, or no object.
    pub fn parse(text: &'j str) -> serde_json::Result<Object<'j>> {
        serde_json::from_str(text)
    }

    /// Whether it has no members.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Its members in the order of the text.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &'j RawValue)> {
        self.0.iter().map(|(key, value)| (&**key, *value))
    }

    /// A member, as it stands.
    pub fn get(&self, key: &str) -> Option<&'j RawValue> {
        self.0.iter().rev().find(|(name, _)| name == key).map(|(_, value)| *value)
    }

    /// A member that is a string. `None`: there is none, or it is `null`.
    ///
    /// # Errors
    /// It is something else, or has half of a character outside the basic plane (a lone surrogate).
    pub fn text(&self, key: &str) -> Result<Option<Cow<'j, str>>, Unfit> {
        self.some(key).map(text).transpose()
    }

    /// The same, where there must be one.
    ///
    /// # Errors
    /// Those of [`Object::text`]; there is none.
    pub fn required_text(&self, key: &str) -> Result<Cow<'j, str>, Unfit> {
        self.text(key)?.ok_or(Unfit::NoSuchType("a string"))
    }

    /// A member that is an object. `None`: there is none, or it is `null`.
    ///
    /// # Errors
    /// It is something else, or the name of one of its members cannot be read.
    pub fn object(&self, key: &str) -> Result<Option<Object<'j>>, Unfit> {
        self.some(key).map(object).transpose()
    }

    fn some(&self, key: &str) -> Option<&'j RawValue> {
        self.get(key).filter(|value| value.get() != "null")
    }
}

/// Reads a string.
///
/// # Errors
/// It is something else, or has a lone surrogate.
pub fn text(value: &RawValue) -> Result<Cow<'_, str>, Unfit> {
    let text = value.get();
    let Some(inside) = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) else {
        return Err(Unfit::NoSuchType("a string"));
    };
    if memchr::memchr(b'\\', inside.as_bytes()).is_none() {
        return Ok(Cow::Borrowed(inside));
    }
    // Its syntax was checked as the line was read; this is all that can be wrong with it now.
    let lone_surrogate = |_| Unfit::Unreadable("it holds half of a character (a lone surrogate)".to_owned());
    serde_json::from_str(text).map(Cow::Owned).map_err(lone_surrogate)
}

/// Reads an object.
///
/// # Errors
/// It is something else, or the name of one of its members has a lone surrogate.
pub fn object(value: &RawValue) -> Result<Object<'_>, Unfit> {
    if !value.get().starts_with('{') {
        return Err(Unfit::NoSuchType("an object"));
    }
    Object::parse(value.get()).map_err(|error| Unfit::Unreadable(error.to_string()))
}

impl<'de> Deserialize<'de> for Object<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Object<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::with_capacity(4);
                while let Some((Key(key), value)) = map.next_entry()? {
                    members.push((key, value));
                }
                Ok(Object(members))
            }
        }
        deserializer.deserialize_map(Members)
    }
}

/// The name of a member; not copied where it has no escapes.
struct Key<'j>(Cow<'j, str>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Name;
        impl<'de> Visitor<'de> for Name {
            type Value = Key<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_borrowed_str<E: de::Error>(self, name: &'de str) -> Result<Self::Value, E> {
                Ok(Key(Cow::Borrowed(name)))
            }
            fn visit_str<E: de::Error>(self, name: &str) -> Result<Self::Value, E> {
                Ok(Key(Cow::Owned(name.to_owned())))
            }
        }
        deserializer.deserialize_str(Name)
    }
}

/// One value as compact JSON, in one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Json(String);

impl Json {
    /// Writes a value.
    ///
    /// # Errors
    /// Those of its `Serialize`.
    pub fn of(value: &impl Serialize) -> serde_json::Result<Json> {
        serde_json::to_string(value).map(Json)
    }

    /// One object with the members of all these, which are objects too, in this order.
    pub fn joined<const N: usize>(objects: [&Json; N]) -> Json {
        let members = objects.map(|object| object.0.trim_start_matches('{').strip_suffix('}').unwrap_or_default());
        let members: Vec<&str> = members.into_iter().filter(|members| !members.is_empty()).collect();
        Json(format!("{{{}}}", members.join(",")))
    }

    /// A text that is compact JSON already.
    pub fn written(text: String) -> Json {
        debug_assert!(!text.contains('\n') && serde_json::from_str::<&RawValue>(&text).is_ok(), "{text}");
        Json(text)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// How often a text is escaped: once as a string of JSON, and once more where that JSON is itself the text of a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Escaped {
    /// `"` is written `\"`.
    Once,
    /// `"` is written `\\\"`.
    Twice,
}

/// Adds `text` to `json` as it stands between the quotes of a string.
pub fn push_escaped(json: &mut String, text: &str, escaped: Escaped) {
    let bytes = text.as_bytes();
    let mut copied = 0;
    let mut at = 0;
    while let Some(next) = next_to_escape(bytes, at) {
        json.push_str(&text[copied..next]);
        push_escape(json, bytes[next], escaped);
        copied = next + 1;
        at = copied;
    }
    json.push_str(&text[copied..]);
}

/// The next byte from `from` on that a string of JSON cannot hold as it is.
fn next_to_escape(bytes: &[u8], from: usize) -> Option<usize> {
    /// As many as the compiler compares at once, without a branch between them.
    const LANES: usize = 32;
    let is_special = |byte: &u8| (*byte < 0x20) | (*byte == b'"') | (*byte == b'\\');
    let mut at = from;
    let rest = loop {
        let Some(chunk) = bytes.get(at..at + LANES) else { break &bytes[at..] };
        if chunk.iter().fold(false, |any, byte| any | is_special(byte)) {
            break chunk;
        }
        at += LANES;
    };
    rest.iter().position(is_special).map(|offset| at + offset)
}

fn push_escape(json: &mut String, byte: u8, escaped: Escaped) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    // The escape itself begins with a backslash, which is escaped the second time.
    json.push_str(if escaped == Escaped::Once { "\\" } else { "\\\\" });
    match byte {
        b'"' | b'\\' => {
            if escaped == Escaped::Twice {
                json.push('\\');
            }
            json.push(char::from(byte));
        }
        b'\n' => json.push('n'),
        b'\r' => json.push('r'),
        b'\t' => json.push('t'),
        0x08 => json.push('b'),
        0x0c => json.push('f'),
        _ => {
            json.push_str("u00");
            json.push(char::from(HEX[usize::from(byte >> 4)]));
            json.push(char::from(HEX[usize::from(byte & 15)]));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_member_is_read_when_it_is_asked_for_and_the_last_of_its_name_counts() {
        let object = Object::parse(r#" {"a": 1, "b\n": "x\ty", "a": "z", "n": null, "o": {"a": [[]]}} "#).unwrap();
        assert_eq!(object.text("a"), Ok(Some("z".into())));
        assert_eq!(object.text("b\n"), Ok(Some("x\ty".into())));
        assert_eq!((object.text("n"), object.text("m")), (Ok(None), Ok(None)));
        assert_eq!(object.text("o"), Err(Unfit::NoSuchType("a string")));
        assert_eq!(object.object("o").unwrap().unwrap().get("a").unwrap().get(), "[[]]");
        assert_eq!(object.object("a").unwrap_err(), Unfit::NoSuchType("an object"));
        assert_eq!(object.get("n").unwrap().get(), "null");
    }

    #[test]
    fn what_nobody_asks_for_may_nest_as_deep_as_it_likes() {
        let deep = format!("{{\"x\": {}{}, \"a\": \"b\"}}", "[".repeat(1_000_000), "]".repeat(1_000_000));
        assert_eq!(Object::parse(&deep).unwrap().text("a"), Ok(Some("b".into())));
    }

    #[test]
    fn half_a_character_is_an_error_of_the_member_that_has_it() {
        let object = Object::parse(r#"{"a": "\ud83d", "b": "\ud83d\ude00", "c": {"\udc00": 1}}"#).unwrap();
        assert!(matches!(object.text("a"), Err(Unfit::Unreadable(_))));
        assert_eq!(object.text("b"), Ok(Some("😀".into())));
        assert!(matches!(object.object("c"), Err(Unfit::Unreadable(_))));
    }

    fn escaped(text: &str, escaped: Escaped) -> String {
        let mut json = String::new();
        push_escaped(&mut json, text, escaped);
        json
    }

    /// The same by serde_json.
    fn by_serde(text: &str) -> String {
        let json = serde_json::to_string(text).unwrap();
        json[1..json.len() - 1].to_owned()
    }

    proptest! {
        #[test]
        fn a_text_is_escaped_as_serde_json_would(text in "([a-z \"\\\\é]|\\PC|[\u{0}-\u{20}]|.{0,40}){0,20}") {
            prop_assert_eq!(escaped(&text, Escaped::Once), by_serde(&text));
            prop_assert_eq!(escaped(&text, Escaped::Twice), by_serde(&by_serde(&text)));
        }
    }

    #[test]
    fn every_byte_is_escaped_wherever_it_stands_in_a_chunk() {
        for character in (0..=0x7f_u8).map(char::from) {
            for before in [0, 1, 31, 32, 33, 63] {
                let text = format!("{}{character}{}", "x".repeat(before), "y".repeat(40));
                assert_eq!(escaped(&text, Escaped::Once), by_serde(&text), "{character:?} {before}");
                assert_eq!(escaped(&text, Escaped::Twice), by_serde(&by_serde(&text)), "{character:?} {before}");
            }
        }
    }
}
