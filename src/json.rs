//! JSON as the wire needs it: values that borrow from the line they were read from, and texts that are written without a
//! detour. What we make ourselves, such as schemas, is a `serde_json::Value`.
//!
//! A request is read in one pass. A text without escapes is not copied, one with escapes is decoded once; a line holds only
//! so many values ([`MAX_VALUES`]), so that a small text cannot become a large tree.
#![deny(clippy::disallowed_methods)] // the list and the reasons are in clippy.toml

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde::{Serialize, Serializer};
use serde_json::Number;
use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashSet;
use std::fmt;
use std::io::{self, Write};

/// How many values one text may hold: the members of its objects, the elements of its lists. The tree of so many takes
/// 24 MiB at most, if each is an object of its own.
pub const MAX_VALUES: usize = 100_000;

/// How deep lists and objects may lie in each other. serde_json sees to it.
pub const MAX_NESTING: usize = 127;

/// A value; its texts borrow from the text that it was read from.
#[derive(Debug, Clone, PartialEq)]
pub enum Value<'j> {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// What fits neither `i64` nor `u64` is a float.
    Number(Number),
    /// A string.
    Text(Cow<'j, str>),
    /// `[…]`
    List(Vec<Value<'j>>),
    /// `{…}`
    Object(Object<'j>),
}

/// The members of an object, in the order of the text. Of two with one name, the last counts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Object<'j>(Vec<(Cow<'j, str>, Value<'j>)>);

/// A member is not what it should be. Its `Display` follows the member's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unfit(&'static str);

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "must be {}", self.0)
    }
}

impl<'j> Value<'j> {
    /// Reads a text that is one value.
    ///
    /// # Errors
    /// It is no JSON, it nests deeper than [`MAX_NESTING`], or holds more than [`MAX_VALUES`].
    pub fn parse(text: &'j str) -> serde_json::Result<Value<'j>> {
        let room = Cell::new(MAX_VALUES);
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let value = Reader(&room).deserialize(&mut deserializer)?;
        deserializer.end().map(|()| value)
    }

    /// The text, if it is one.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }
}

impl<'j> Object<'j> {
    /// Whether it has no members.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Its members in the order of the text, each name once.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value<'j>)> {
        let mut known = HashSet::new();
        let mut members: Vec<_> = self.0.iter().rev().filter(|(name, _)| known.insert(&**name)).collect();
        members.reverse();
        members.into_iter().map(|(name, value)| (&**name, value))
    }

    /// A member, `null` too.
    pub fn get(&self, key: &str) -> Option<&Value<'j>> {
        self.0.iter().rev().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// Takes a member out.
    pub fn remove(&mut self, key: &str) -> Option<Value<'j>> {
        let at = self.0.iter().rposition(|(name, _)| name == key)?;
        Some(self.0.remove(at).1)
    }

    /// A member that is a text. `None`: there is none, or it is `null`.
    ///
    /// # Errors
    /// It is something else.
    pub fn text(&self, key: &str) -> Result<Option<&str>, Unfit> {
        match self.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Text(text)) => Ok(Some(text)),
            Some(_) => Err(Unfit("a string")),
        }
    }

    /// The same, where there must be one.
    ///
    /// # Errors
    /// It is something else, or there is none.
    pub fn required_text(&self, key: &str) -> Result<&str, Unfit> {
        self.text(key)?.ok_or(Unfit("a string"))
    }

    /// A member that is an object. `None`: there is none, or it is `null`.
    ///
    /// # Errors
    /// It is something else.
    pub fn object(&self, key: &str) -> Result<Option<&Object<'j>>, Unfit> {
        match self.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Object(object)) => Ok(Some(object)),
            Some(_) => Err(Unfit("an object")),
        }
    }
}

/// Reads a value, as long as there is room for it.
#[derive(Clone, Copy)]
struct Reader<'r>(&'r Cell<usize>);

impl Reader<'_> {
    fn take_room<E: Error>(self) -> Result<(), E> {
        let room = self.0.get().checked_sub(1);
        self.0.set(
            room.ok_or_else(|| E::custom(format_args!("more than {MAX_VALUES} values in one line; ask in several")))?,
        );
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Reader<'_> {
    type Value = Value<'de>;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value<'de>, D::Error> {
        self.take_room()?;
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Reader<'_> {
    type Value = Value<'de>;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }
    fn visit_unit<E>(self) -> Result<Value<'de>, E> {
        Ok(Value::Null)
    }
    fn visit_bool<E>(self, truth: bool) -> Result<Value<'de>, E> {
        Ok(Value::Bool(truth))
    }
    fn visit_u64<E>(self, number: u64) -> Result<Value<'de>, E> {
        Ok(Value::Number(number.into()))
    }
    fn visit_i64<E>(self, number: i64) -> Result<Value<'de>, E> {
        Ok(Value::Number(number.into()))
    }
    fn visit_f64<E>(self, number: f64) -> Result<Value<'de>, E> {
        Ok(Number::from_f64(number).map_or(Value::Null, Value::Number)) // JSON has no other
    }
    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Value<'de>, E> {
        Ok(Value::Text(Cow::Borrowed(text)))
    }
    fn visit_str<E>(self, text: &str) -> Result<Value<'de>, E> {
        Ok(Value::Text(Cow::Owned(text.to_owned())))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value<'de>, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element_seed(self)? {
            values.push(value);
        }
        Ok(Value::List(values))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value<'de>, A::Error> {
        let mut members = Vec::new();
        while let Some(key) = map.next_key_seed(Name)? {
            members.push((key, map.next_value_seed(self)?));
        }
        Ok(Value::Object(Object(members)))
    }
}

/// Reads the name of a member.
struct Name;

impl<'de> DeserializeSeed<'de> for Name {
    type Value = Cow<'de, str>;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Cow<'de, str>, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Name {
    type Value = Cow<'de, str>;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }
    fn visit_borrowed_str<E>(self, name: &'de str) -> Result<Cow<'de, str>, E> {
        Ok(Cow::Borrowed(name))
    }
    fn visit_str<E>(self, name: &str) -> Result<Cow<'de, str>, E> {
        Ok(Cow::Owned(name.to_owned()))
    }
}

impl Serialize for Value<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::Null => serializer.serialize_unit(),
            Value::Bool(truth) => serializer.serialize_bool(*truth),
            Value::Number(number) => number.serialize(serializer),
            Value::Text(text) => serializer.serialize_str(text),
            Value::List(values) => serializer.collect_seq(values),
            Value::Object(object) => object.serialize(serializer),
        }
    }
}

impl Serialize for Object<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

/// One value as compact JSON, in one line.
pub struct Json(Form);

enum Form {
    Written(String),
    /// An object that is written when its turn has come: `begin` writes it up to the brace at its end, `end` has the rest.
    Unwritten {
        begin: Box<dyn Fn(&mut Writer<'_>)>,
        end: Cow<'static, str>,
    },
}

impl Json {
    /// Writes a value.
    ///
    /// # Errors
    /// Those of its `Serialize`.
    pub fn of(value: &impl Serialize) -> serde_json::Result<Json> {
        serde_json::to_string(value).map(Json::written)
    }

    /// This object, and behind its members those of `more`, which is written as an object too.
    ///
    /// # Errors
    /// Those of `more`'s `Serialize`.
    pub fn with(mut self, more: &impl Serialize) -> serde_json::Result<Json> {
        let more = serde_json::to_string(more)?;
        let end = match &mut self.0 {
            Form::Written(text) => text,
            Form::Unwritten { end, .. } => end.to_mut(),
        };
        end.truncate(end.len() - 1);
        if !end.ends_with('{') {
            end.push(',');
        }
        end.push_str(more.strip_prefix('{').unwrap_or(&more));
        Ok(self)
    }

    /// A text that is compact JSON already.
    pub fn written(text: String) -> Json {
        debug_assert!(!text.contains('\n') && serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok(), "{text}");
        Json(Form::Written(text))
    }

    /// An object that is written when its turn has come, however often that is: a long one need never be in memory as a
    /// whole, and its reader begins with it while we go on. `begin` writes at least one member, and all but the last brace.
    pub fn unwritten(begin: impl Fn(&mut Writer<'_>) + 'static) -> Json {
        Json(Form::Unwritten { begin: Box::new(begin), end: "}".into() })
    }

    /// Writes it; flushes nothing.
    ///
    /// # Errors
    /// Those of the output.
    pub fn write(&self, output: &mut dyn Write) -> io::Result<()> {
        match &self.0 {
            Form::Written(text) => output.write_all(text.as_bytes()),
            Form::Unwritten { begin, end } => {
                let mut writer = Writer { text: String::new(), output, outcome: Ok(()) };
                begin(&mut writer);
                writer.push(end);
                writer.end()
            }
        }
    }

    /// Temporary.
    pub fn length(&self) -> usize {
        let mut text = Vec::new();
        let _ = self.write(&mut text);
        text.len()
    }

    /// The same as a text.
    pub fn into_text(self) -> String {
        if let Form::Written(text) = self.0 {
            return text;
        }
        let mut text = Vec::new();
        self.write(&mut text).expect("memory takes all");
        String::from_utf8(text).expect("written from texts")
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Form::Written(text) => f.write_str(text),
            Form::Unwritten { end, .. } => write!(f, "{{…{end}"),
        }
    }
}

/// JSON on its way to an output, of which it holds [`Writer::HELD`] bytes back at most, and what one piece adds.
pub struct Writer<'o> {
    text: String,
    output: &'o mut dyn Write,
    /// Of the output; once it has failed, all else is dropped.
    outcome: io::Result<()>,
}

impl Writer<'_> {
    /// What a pipe of Linux holds: who reads it has all of it at once.
    const HELD: usize = 64 * 1024;

    /// How much of a long text is escaped at once.
    const PIECE: usize = 16 * 1024;

    /// Makes room for so many bytes more, or for as many as are held.
    pub fn reserve(&mut self, length: usize) {
        self.text.reserve(length.min(Writer::HELD + Writer::PIECE));
    }

    /// JSON as it is; a long one goes out from where it is.
    pub fn push(&mut self, json: &str) {
        if json.len() < Writer::HELD {
            self.text.push_str(json);
            self.pass_on(Writer::HELD);
        } else {
            self.pass_on(0);
            self.write(json);
        }
    }

    /// A text as it stands between the quotes of a string. Whether it stands there unchanged.
    pub fn push_escaped(&mut self, text: &str, escaped: Escaped) -> bool {
        let mut rest = text;
        let mut is_unchanged = true;
        while rest.len() > Writer::PIECE {
            let end = (0..=Writer::PIECE).rev().find(|&at| rest.is_char_boundary(at)).unwrap_or(rest.len());
            let (piece, behind) = rest.split_at(end);
            is_unchanged &= push_escaped(&mut self.text, piece, escaped);
            self.pass_on(Writer::HELD);
            rest = behind;
        }
        is_unchanged &= push_escaped(&mut self.text, rest, escaped);
        self.pass_on(Writer::HELD);
        is_unchanged
    }

    /// Writes what is held, if that is so many bytes.
    fn pass_on(&mut self, from: usize) {
        if self.text.len() >= from {
            let mut text = std::mem::take(&mut self.text);
            self.write(&text);
            text.clear();
            self.text = text;
        }
    }

    fn write(&mut self, json: &str) {
        if self.outcome.is_ok() {
            self.outcome = self.output.write_all(json.as_bytes());
        }
    }

    fn end(mut self) -> io::Result<()> {
        self.pass_on(0);
        self.outcome
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

/// Adds `text` to `json` as it stands between the quotes of a string. Whether it stands there unchanged.
///
/// serde_json escapes once, and what is to be escaped twice it would have to read again. Here a text is read once for each
/// of its two places in an answer, and written where it stays.
fn push_escaped(json: &mut String, text: &str, escaped: Escaped) -> bool {
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
    copied == 0
}

/// The next byte from `from` on that a string of JSON cannot hold as it is: `"`, `\`, and what is below a space.
///
/// Eight bytes at a time, as one number: of the bytes that are below a limit, the lowest is the first whose subtraction
/// borrows into its highest bit, where that was not set before (`& !eight`: bytes from 0x80 on). Bit 2 turned over makes `"`
/// 0x20, the one behind what is below a space, all of which stays below; the bits of `\` turned over make it the only zero.
/// What lies above the lowest may be found by mistake, so each mask is right in its lowest hit only; and so is, of two masks
/// in one, the lowest of all.
fn next_to_escape(bytes: &[u8], from: usize) -> Option<usize> {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGHEST_BITS: u64 = ONES << 7;
    let below = |eight: u64, limit: u8| eight.wrapping_sub(ONES * u64::from(limit)) & !eight;
    let mut at = from;
    while let Some(chunk) = bytes[at..].first_chunk() {
        let eight = u64::from_le_bytes(*chunk);
        let turned = |bits: u8| eight ^ (ONES * u64::from(bits));
        let found = (below(turned(2), 0x21) | below(turned(b'\\'), 1)) & HIGHEST_BITS;
        if found != 0 {
            return Some(at + found.trailing_zeros() as usize / 8);
        }
        at += 8;
    }
    let rest = bytes[at..].iter().position(|byte| *byte < 0x20 || matches!(byte, b'"' | b'\\'));
    rest.map(|offset| at + offset)
}

/// Each literal has an arm of its own, so that none is copied by a call.
fn push_escape(json: &mut String, byte: u8, escaped: Escaped) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    match (byte, escaped) {
        (b'\n', Escaped::Once) => json.push_str(r"\n"),
        (b'"', Escaped::Once) => json.push_str(r#"\""#),
        (b'\\', Escaped::Once) => json.push_str(r"\\"),
        (b'\t', Escaped::Once) => json.push_str(r"\t"),
        (b'\r', Escaped::Once) => json.push_str(r"\r"),
        (0x08, Escaped::Once) => json.push_str(r"\b"),
        (0x0c, Escaped::Once) => json.push_str(r"\f"),
        // The escape itself begins with a backslash, which is escaped the second time.
        (b'\n', Escaped::Twice) => json.push_str(r"\\n"),
        (b'"', Escaped::Twice) => json.push_str(r#"\\\""#),
        (b'\\', Escaped::Twice) => json.push_str(r"\\\\"),
        (b'\t', Escaped::Twice) => json.push_str(r"\\t"),
        (b'\r', Escaped::Twice) => json.push_str(r"\\r"),
        (0x08, Escaped::Twice) => json.push_str(r"\\b"),
        (0x0c, Escaped::Twice) => json.push_str(r"\\f"),
        _ => {
            json.push_str(if escaped == Escaped::Once { r"\u00" } else { r"\\u00" });
            json.push(char::from(HEX[usize::from(byte >> 4)]));
            json.push(char::from(HEX[usize::from(byte & 15)]));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn object(text: &str) -> Object<'_> {
        match Value::parse(text).unwrap() {
            Value::Object(object) => object,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn of_two_members_of_one_name_the_last_counts() {
        let twice = object(r#"{"a": [1], "b": 2, "a": "x"}"#);
        assert_eq!(Json::of(&Value::Object(twice)).unwrap().into_text(), r#"{"b":2,"a":"x"}"#);
        let mut object = object(r#" {"a": 1, "b\n": "x\ty", "a": "z", "n": null, "o": {"a": [[]]}} "#);
        assert_eq!(object.text("a"), Ok(Some("z")));
        assert_eq!(object.text("b\n"), Ok(Some("x\ty")));
        assert_eq!((object.text("n"), object.text("m")), (Ok(None), Ok(None)));
        assert_eq!((object.text("o"), object.required_text("n")), (Err(Unfit("a string")), Err(Unfit("a string"))));
        assert!(object.object("o").unwrap().is_some_and(|inner| inner.get("a").is_some()));
        assert_eq!(object.object("a").unwrap_err(), Unfit("an object"));
        assert_eq!(object.remove("a"), Some(Value::Text("z".into())));
        assert_eq!(object.remove("x"), None);
        let names: Vec<&str> = object.iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["a", "b\n", "n", "o"], "the order of the text is kept");
    }

    #[test]
    fn a_text_without_escapes_is_not_copied() {
        let is_borrowed = |value: &Value<'_>| matches!(value, Value::Text(Cow::Borrowed(_)));
        let object = object(r#"{"a": "日本", "b": "\u65e5"}"#);
        assert!(is_borrowed(&object.0[0].1) && !is_borrowed(&object.0[1].1));
    }

    #[test]
    fn a_text_nests_to_its_limit_and_holds_values_to_theirs() {
        let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert!(Value::parse(&nested(MAX_NESTING)).is_ok());
        assert!(Value::parse(&nested(MAX_NESTING + 1)).is_err());
        assert!(Value::parse(&nested(1_000_000)).is_err());
        let long = |values: usize| format!("[{}0]", "0,".repeat(values - 2));
        assert!(Value::parse(&long(MAX_VALUES)).is_ok());
        let error = Value::parse(&long(MAX_VALUES + 1)).unwrap_err().to_string();
        assert!(error.starts_with("more than 100000 values in one line"), "{error}");
    }

    #[test]
    fn an_object_that_is_written_later_is_the_same_each_time_and_takes_more_members() {
        let json = |text: &'static str| Json::unwritten(move |writer| writer.push(text));
        assert_eq!(json(r#"{"a":1"#).into_text(), r#"{"a":1}"#);
        #[derive(Serialize)]
        struct More {
            b: u8,
        }
        let more = json(r#"{"a":1"#).with(&More { b: 2 }).unwrap();
        let mut twice = Vec::new();
        more.write(&mut twice).unwrap();
        more.write(&mut twice).unwrap();
        assert_eq!(twice, br#"{"a":1,"b":2}{"a":1,"b":2}"#);
        for (object, with_more) in [("{}", r#"{"b":2}"#), (r#"{"a":1}"#, r#"{"a":1,"b":2}"#)] {
            assert_eq!(Json::written(object.to_owned()).with(&More { b: 2 }).unwrap().into_text(), with_more);
        }
    }

    /// What is written of a text, and the longest piece of it.
    fn streamed(text: &str, escapes: Escaped) -> (String, usize) {
        struct Pieces(Vec<u8>, usize);
        impl Write for Pieces {
            fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
                self.0.extend_from_slice(piece);
                self.1 = self.1.max(piece.len());
                Ok(piece.len())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let owned = text.to_owned();
        let json = Json::unwritten(move |writer| {
            writer.push("{\"a\":\"");
            writer.push_escaped(&owned, escapes);
            writer.push("\"");
        });
        let mut pieces = Pieces(Vec::new(), 0);
        json.write(&mut pieces).unwrap();
        (String::from_utf8(pieces.0).unwrap(), pieces.1)
    }

    #[test]
    fn a_long_text_is_written_in_pieces_that_are_not_long_wherever_its_characters_end() {
        for shift in 0..4 {
            let text = format!("{}{}", "x".repeat(shift), "a\"\\\n🦀é\u{1}".repeat(30_000));
            for (escapes, want) in [(Escaped::Once, by_serde(&text)), (Escaped::Twice, by_serde(&by_serde(&text)))] {
                let (got, longest) = streamed(&text, escapes);
                assert!(got == format!("{{\"a\":\"{want}\"}}"), "{shift} {escapes:?}");
                assert!(longest < Writer::HELD + 7 * Writer::PIECE, "{longest}");
            }
        }
        assert_eq!(streamed("", Escaped::Once).0, r#"{"a":""}"#);
    }

    #[test]
    fn a_long_text_that_is_json_already_is_written_from_where_it_is() {
        /// Where each piece lies, and how long it is.
        struct Pieces(Vec<(usize, usize)>);
        impl Write for Pieces {
            fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
                self.0.push((piece.as_ptr().addr(), piece.len()));
                Ok(piece.len())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let text: std::sync::Arc<str> = "x".repeat(10 * Writer::HELD).into();
        let owned = std::sync::Arc::clone(&text);
        let json =
            Json::unwritten(move |writer| ["{\"a\":\"", &owned, "\""].into_iter().for_each(|json| writer.push(json)));
        let mut pieces = Pieces(Vec::new());
        json.write(&mut pieces).unwrap();
        let lengths: Vec<usize> = pieces.0.iter().map(|(_, length)| *length).collect();
        assert_eq!(lengths, ["{\"a\":\"".len(), text.len(), "\"}".len()]);
        assert_eq!(pieces.0[1].0, text.as_ptr().addr());
        assert_eq!(json.into_text(), format!("{{\"a\":\"{text}\"}}"));
    }

    #[test]
    fn nothing_more_is_written_to_an_output_that_has_failed() {
        struct Full(usize);
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                self.0 += 1;
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let json = Json::unwritten(|writer| (0..100_000).for_each(|_| writer.push("1234567890")));
        let mut full = Full(0);
        assert_eq!(json.write(&mut full).unwrap_err().kind(), io::ErrorKind::BrokenPipe);
        assert_eq!(full.0, 1);
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

    /// Any JSON, as serde_json has it.
    fn any_json() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(serde_json::Value::from),
            any::<i64>().prop_map(serde_json::Value::from),
            any::<i32>().prop_map(|eighths| serde_json::Value::from(f64::from(eighths) / 8.0)),
            ".{0,8}".prop_map(serde_json::Value::from),
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(serde_json::Value::from),
                prop::collection::btree_map(".{0,3}", inner, 0..4)
                    .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn a_value_that_was_read_is_written_as_it_was(json in any_json()) {
            let text = json.to_string();
            let written = Json::of(&Value::parse(&text).unwrap()).unwrap();
            prop_assert_eq!(written.into_text(), text);
        }

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
