//! Deserializes the members of a message, and takes only an object for a struct.
//!
//! serde also reads a struct from an array, as the list of its fields. A client that sends an array
//! in place of an object has made a mistake, so that is an error here.

use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{Deserializer, Error as _, IntoDeserializer, Unexpected, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::{Error, Map, Value};

/// Returns a deserializer for an object.
pub(super) fn deserializer(
    object: &Map<String, Value>,
) -> MapDeserializer<'_, impl Iterator<Item = (&str, Member<'_>)>, Error> {
    let members = object.iter();
    MapDeserializer::new(members.map(|(name, value)| (name.as_str(), Member(value))))
}

/// A member of an object, or an element of an array.
#[derive(Clone, Copy)]
pub(super) struct Member<'de>(&'de Value);

impl<'de> IntoDeserializer<'de, Error> for Member<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Member<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::Array(elements) => {
                visitor.visit_seq(SeqDeserializer::new(elements.iter().map(Member)))
            }
            Value::Object(object) => visitor.visit_map(deserializer(object)),
            scalar => scalar.deserialize_any(visitor),
        }
    }

    /// Fails if the value is an array.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        if self.0.is_array() {
            return Err(Error::invalid_type(Unexpected::Seq, &visitor));
        }
        self.deserialize_any(visitor)
    }

    /// Takes `null` for a missing value.
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.0.is_null() {
            visitor.visit_none()
        } else {
            visitor.visit_some(self)
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.0.deserialize_enum(name, variants, visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf
        unit unit_struct seq tuple tuple_struct map identifier ignored_any
    }
}
