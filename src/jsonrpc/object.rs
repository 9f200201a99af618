//! Reading JSON objects from a line of input, without building a tree of values.
//!
//! [`check`] reads a whole line once. After that, an [`Object`] only knows where each of its members is in the line, and
//! [`Object::read`] fills a type that derives `Deserialize` from the members that the type has. Of members with the same
//! name the last one counts; unknown members are ignored.

use crate::wording::quoted;
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error, Expected, IntoDeserializer, MapAccess, SeqAccess, Unexpected,
    Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::Number;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt;

/// How many values a line may hold: the members of its objects and the elements of its arrays, together.
pub const MAX_VALUES: usize = 100_000;

/// How deeply arrays and objects may be nested; serde_json enforces it.
pub const MAX_NESTING: usize = 127;

/// Checks that `text` is one JSON value within [`MAX_VALUES`] and [`MAX_NESTING`], and stores nothing of it.
///
/// This is stricter than the grammar, which `IgnoredAny` and `RawValue` check: it refuses half of a surrogate pair and a
/// number that no float can hold. So whatever is copied from the line into an answer is valid for every reader.
pub(super) fn check(text: &str) -> serde_json::Result<()> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    Check { room: &Cell::new(MAX_VALUES) }.deserialize(&mut deserializer)?;
    deserializer.end()
}

#[derive(Clone, Copy)]
struct Check<'c> {
    room: &'c Cell<usize>,
}

impl Check<'_> {
    fn count_value<E: Error>(self) -> Result<(), E> {
        let room = self.room.get().checked_sub(1).ok_or_else(too_many)?;
        self.room.set(room);
        Ok(())
    }
}

fn too_many<E: Error>() -> E {
    E::custom(format_args!("more than {MAX_VALUES} values in one line; send several requests"))
}

impl<'de> DeserializeSeed<'de> for Check<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Check<'_> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }
    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }
    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }
    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }
    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }
    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        while elements.next_element_seed(self)?.is_some() {
            self.count_value()?;
        }
        Ok(())
    }
    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        while members.next_entry_seed(self, self)?.is_some() {
            self.count_value()?;
        }
        Ok(())
    }
}

/// The members of a JSON object, as they are written in the line.
#[derive(Debug, Clone, Default)]
pub struct Object<'l> {
    text: &'l str,
    members: Vec<(Cow<'l, str>, &'l RawValue)>,
}

impl<'l> Object<'l> {
    /// `None`: the text is not an object, or has more than [`MAX_VALUES`] members.
    pub(super) fn parse(text: &'l str) -> Option<Object<'l>> {
        struct ReadMembers;
        impl<'de> Visitor<'de> for ReadMembers {
            type Value = Vec<(Cow<'de, str>, &'de RawValue)>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some((Text(name), value)) = map.next_entry()? {
                    if members.len() == MAX_VALUES {
                        return Err(too_many());
                    }
                    members.push((name, value));
                }
                Ok(members)
            }
        }
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let members = deserializer.deserialize_map(ReadMembers).ok()?;
        deserializer.end().ok()?;
        Some(Object { text, members })
    }

    /// The object as it is written in the line; empty where there is none.
    pub fn text(&self) -> &'l str {
        self.text
    }

    /// A member, which may be `null`.
    pub fn get(&self, name: &str) -> Option<&'l RawValue> {
        self.members.iter().rev().find(|(member, _)| member == name).map(|(_, value)| *value)
    }

    /// A member that is an object. `None`: it is missing or `null`.
    ///
    /// # Errors
    /// It is something else.
    pub fn object(&self, name: &str) -> Result<Option<Object<'l>>, Mismatch> {
        let value = self.get(name).map(Value).filter(|value| !value.is_null());
        value.map(Value::object).transpose().map_err(|mismatch| mismatch.inside(name))
    }

    /// Reads the members that `T` has.
    ///
    /// # Errors
    /// The first member that is missing or has another type.
    pub fn read<T: Deserialize<'l>>(&self) -> Result<T, Mismatch> {
        T::deserialize(self)
    }
}

/// A string that is copied only if it has escapes.
#[derive(serde::Deserialize)]
struct Text<'l>(#[serde(borrow)] Cow<'l, str>);

/// The JSON as a string, if it is one.
pub(super) fn string(json: &RawValue) -> Option<Cow<'_, str>> {
    serde_json::from_str(json.get()).ok().map(|Text(text)| text)
}

/// A member is missing, or not of the type that it should have. `Display` says which one, and what it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    path: String,
    expected: String,
}

impl Mismatch {
    fn must_be(what: impl fmt::Display) -> Mismatch {
        Mismatch { path: String::new(), expected: format!("must be {what}") }
    }

    /// The same mismatch, found in the member `name` of an outer object.
    pub(crate) fn inside(self, name: &str) -> Mismatch {
        let separator = if self.path.is_empty() || self.path.starts_with('[') { "" } else { "." };
        Mismatch { path: format!("{name}{separator}{}", self.path), ..self }
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", quoted(&self.path), self.expected)
    }
}

impl std::error::Error for Mismatch {}

impl Error for Mismatch {
    fn custom<T: fmt::Display>(message: T) -> Mismatch {
        Mismatch { path: String::new(), expected: message.to_string() }
    }
    fn invalid_type(_: Unexpected<'_>, expected: &dyn Expected) -> Mismatch {
        Mismatch::must_be(expected)
    }
    fn invalid_value(_: Unexpected<'_>, expected: &dyn Expected) -> Mismatch {
        Mismatch::must_be(expected)
    }
    fn missing_field(field: &'static str) -> Mismatch {
        Mismatch { path: field.to_owned(), expected: "is missing".to_owned() }
    }
}

impl<'de> Deserializer<'de> for &Object<'de> {
    type Error = Mismatch;

    /// Visits every member, sorted by name.
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        let members: BTreeMap<&str, &'de RawValue> = self.members.iter().map(|(name, json)| (&**name, *json)).collect();
        visitor.visit_map(Members { rest: members.into_iter(), value: None })
    }

    /// Visits only the members that the struct has.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Mismatch> {
        let rest = fields.iter().filter_map(|name| Some((*name, self.get(name)?)));
        visitor.visit_map(Members { rest, value: None })
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

/// Members on their way to a type, each name once.
struct Members<'n, 'de, I> {
    rest: I,
    /// That of the name which was read last.
    value: Option<(&'n str, &'de RawValue)>,
}

impl<'n, 'de, I: Iterator<Item = (&'n str, &'de RawValue)>> MapAccess<'de> for Members<'n, 'de, I> {
    type Error = Mismatch;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Mismatch> {
        self.value = self.rest.next();
        self.value.map(|(name, _)| seed.deserialize(name.into_deserializer())).transpose()
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Mismatch> {
        let (name, json) = self.value.take().ok_or_else(|| Mismatch::custom("has no value"))?;
        seed.deserialize(Value(json)).map_err(|mismatch| mismatch.inside(name))
    }
}

/// Elements of an array on their way to a type.
struct Elements<'de>(std::vec::IntoIter<&'de RawValue>);

impl<'de> SeqAccess<'de> for Elements<'de> {
    type Error = Mismatch;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Mismatch> {
        let element = self.0.next().map(|json| seed.deserialize(Value(json)));
        element.transpose().map_err(|mismatch| mismatch.inside("[]"))
    }
}

/// A value in the line.
#[derive(Clone, Copy)]
struct Value<'de>(&'de RawValue);

impl<'de> Value<'de> {
    fn is_null(self) -> bool {
        self.0.get() == "null"
    }

    fn object(self) -> Result<Object<'de>, Mismatch> {
        Object::parse(self.0.get()).ok_or_else(|| Mismatch::must_be("an object"))
    }

    fn parse<T: Deserialize<'de>>(self) -> Result<T, Mismatch> {
        serde_json::from_str(self.0.get()).map_err(Mismatch::custom)
    }
}

impl<'de> Deserializer<'de> for Value<'de> {
    type Error = Mismatch;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        match self.0.get().as_bytes() {
            b"null" => visitor.visit_unit(),
            b"true" => visitor.visit_bool(true),
            b"false" => visitor.visit_bool(false),
            [b'"', ..] => match self.parse()? {
                Text(Cow::Borrowed(text)) => visitor.visit_borrowed_str(text),
                Text(Cow::Owned(text)) => visitor.visit_string(text),
            },
            [b'[', ..] => visitor.visit_seq(Elements(self.parse::<Vec<_>>()?.into_iter())),
            [b'{', ..] => self.object()?.deserialize_any(visitor),
            _ => {
                let number: Number = self.parse()?;
                match (number.as_u64(), number.as_i64(), number.as_f64()) {
                    (Some(number), ..) => visitor.visit_u64(number),
                    (None, Some(number), _) => visitor.visit_i64(number),
                    (None, None, number) => visitor.visit_f64(number.unwrap_or(f64::INFINITY)),
                }
            }
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        if self.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Mismatch> {
        self.object()?.deserialize_struct(name, fields, visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        self.object()?.deserialize_any(visitor)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        if self.0.get().starts_with('[') { self.deserialize_any(visitor) } else { Err(Mismatch::must_be("an array")) }
    }

    /// Only `&RawValue` is read as a newtype.
    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value, Mismatch> {
        self.0.deserialize_newtype_struct(name, visitor).map_err(Mismatch::custom)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct tuple
        tuple_struct enum identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Deserialize)]
    struct Sample<'l> {
        #[serde(borrow)]
        text: Cow<'l, str>,
        optional: Option<String>,
        #[serde(default)]
        flag: bool,
        #[serde(default)]
        list: Vec<String>,
        nested: Option<Nested>,
        #[serde(borrow)]
        raw: Option<&'l RawValue>,
        map: Option<BTreeMap<String, Option<String>>>,
    }

    #[derive(Deserialize)]
    struct Nested {
        number: f64,
    }

    fn read(text: &str) -> Result<Sample<'_>, String> {
        check(text).unwrap();
        Object::parse(text).unwrap().read().map_err(|mismatch| mismatch.to_string())
    }

    #[test]
    fn a_type_gets_the_last_member_of_each_name_at_every_depth_and_ignores_the_rest() {
        let sample = read(
            r#" {"text": 5, "unknown": [{}], "list": ["a"], "nested": {"number": "x", "number": -7, "number": 2},
                "map": {"a": 1, "b": "2", "c": null, "b": null, "a": "3"}, "te\u0078t": "last", "list": ["b", "c"],
                "raw": 1, "raw": { "as": "written" } } "#,
        )
        .unwrap();
        assert_eq!((&*sample.text, sample.list), ("last", vec!["b".to_owned(), "c".to_owned()]));
        assert_eq!(sample.nested.map(|nested| nested.number), Some(2.0));
        assert_eq!(sample.raw.map(RawValue::get), Some(r#"{ "as": "written" }"#));
        let map = [("a", Some("3")), ("b", None), ("c", None)];
        assert_eq!(sample.map, Some(map.map(|(name, text)| (name.to_owned(), text.map(str::to_owned))).into()));
    }

    #[test]
    fn null_is_the_same_as_a_missing_optional_member_and_no_value_for_a_required_one() {
        let sample = read(r#"{"text": "", "optional": null, "nested": null, "raw": null, "map": null}"#).unwrap();
        assert!(sample.optional.is_none() && sample.nested.is_none() && sample.raw.is_none() && sample.map.is_none());
        assert!(!sample.flag && sample.list.is_empty());
        assert_eq!(read(r#"{"text": null}"#).err().unwrap(), "`text` must be a string");
        assert_eq!(read("{}").err().unwrap(), "`text` is missing");
    }

    #[test]
    fn an_error_says_which_member_is_wrong_and_what_it_should_be() {
        for (members, error) in [
            (r#""text": ["x"]"#, "`text` must be a string"),
            (r#""text": "", "optional": 5"#, "`optional` must be a string"),
            (r#""text": "", "flag": "true""#, "`flag` must be a boolean"),
            (r#""text": "", "list": "x""#, "`list` must be an array"),
            (r#""text": "", "list": ["x", 5]"#, "`list[]` must be a string"),
            (r#""text": "", "nested": []"#, "`nested` must be an object"),
            (r#""text": "", "nested": {}"#, "`nested.number` is missing"),
            (r#""text": "", "nested": {"number": "5"}"#, "`nested.number` must be f64"),
            (r#""text": "", "map": [1]"#, "`map` must be an object"),
            (r#""text": "", "map": {"a\n`": 1}"#, "`map.a\\n'` must be a string"),
        ] {
            assert_eq!(read(&format!("{{{members}}}")).err().unwrap(), error, "{members}");
        }
        let long = format!(r#"{{"text": "", "map": {{"{}": 1}}}}"#, "x".repeat(100_000));
        assert!(read(&long).err().unwrap().len() < 100);
    }

    #[test]
    fn a_string_without_escapes_is_not_copied() {
        let is_borrowed = |text: &str| matches!(read(text).unwrap().text, Cow::Borrowed("日本"));
        assert!(is_borrowed(r#"{"text": "日本"}"#) && !is_borrowed(r#"{"text": "\u65e5本"}"#));
    }

    #[test]
    fn a_text_is_nested_and_holds_values_up_to_the_limits() {
        let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert!(check(&nested(MAX_NESTING)).is_ok());
        assert!(check(&nested(MAX_NESTING + 1)).is_err());
        assert!(check(&nested(1_000_000)).is_err());
        for (member, [first, last]) in [("0", ["[", "]"]), ("[]", ["[", "]"]), ("\"a\":0", ["{", "}"])] {
            let long = |values: usize| format!("{first}{}{member}{last}", format!("{member},").repeat(values - 1));
            assert!(check(&long(MAX_VALUES)).is_ok());
            let error = check(&long(MAX_VALUES + 1)).unwrap_err().to_string();
            assert!(error.starts_with("more than 100000 values in one line"), "{error}");
        }
        assert!(Object::parse(&format!("{{{}\"a\":0}}", "\"a\":0,".repeat(MAX_VALUES))).is_none());
    }
}
