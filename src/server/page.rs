//! Pagination: a list in pages, and cursors that need no memory of ours (2025-11-25, "Pagination").
//!
//! A cursor says after which key of which list a page begins. It means the same to another process, and while the list
//! changes: the page begins with what follows the key, even if the key has gone.

use crate::json::Object;
use crate::jsonrpc::Error;
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use std::num::NonZeroUsize;

/// How many entries a page holds. Large, because many clients read only the first.
pub const PAGE_SIZE: NonZeroUsize = NonZeroUsize::new(500).unwrap();

/// What is listed in pages, as cursors spell it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Prompts,
    Resources,
}

impl Kind {
    fn prefix(self) -> &'static str {
        match self {
            Kind::Prompts => "prompts:",
            Kind::Resources => "resources:",
        }
    }
}

/// A page that was asked for.
#[derive(Debug)]
pub(super) struct Page {
    kind: Kind,
    size: NonZeroUsize,
    /// It holds what follows this key; `None` for the first.
    after: Option<String>,
}

impl Page {
    /// Reads the cursor of a request for a list.
    ///
    /// # Errors
    /// `-32602` for what is no cursor of ours, or one of another list.
    pub(super) fn requested(kind: Kind, size: NonZeroUsize, params: &Object<'_>) -> Result<Page, Error> {
        let after = match params.text("cursor").map_err(|_| unknown_cursor())? {
            None => None,
            Some(cursor) => Some(key(kind, cursor).ok_or_else(unknown_cursor)?),
        };
        Ok(Page { kind, size, after })
    }

    /// Fills the page from a list that is sorted by key; `make` gives no item for what is left out. Also the cursor for
    /// the next page, if there is one.
    pub(super) fn fill<K, T>(
        &self,
        entries: &[K],
        key: impl Fn(&K) -> &str,
        mut make: impl FnMut(&K) -> Option<T>,
    ) -> (Vec<T>, Option<String>) {
        let start = match &self.after {
            None => 0,
            Some(after) => entries.partition_point(|entry| key(entry) <= after.as_str()),
        };
        let mut items = Vec::new();
        for (index, entry) in entries.iter().enumerate().skip(start) {
            items.extend(make(entry));
            if items.len() == self.size.get() && index + 1 < entries.len() {
                return (items, Some(BASE64_URL_SAFE_NO_PAD.encode(format!("{}{}", self.kind.prefix(), key(entry)))));
            }
        }
        (items, None)
    }
}

/// A list that always has one page has no cursors.
///
/// # Errors
/// `-32602` for any cursor.
pub(super) fn only_page(params: &Object<'_>) -> Result<(), Error> {
    if params.text("cursor") == Ok(None) { Ok(()) } else { Err(unknown_cursor()) }
}

fn unknown_cursor() -> Error {
    Error::invalid_params("`cursor` is none that this list gave out; ask without it for the first page")
}

fn key(kind: Kind, cursor: &str) -> Option<String> {
    let decoded = BASE64_URL_SAFE_NO_PAD.decode(cursor).ok()?;
    let key = String::from_utf8(decoded).ok()?;
    key.strip_prefix(kind.prefix()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn object(text: &str) -> Object<'_> {
        match crate::json::Value::parse(text).unwrap() {
            crate::json::Value::Object(object) => object,
            other => panic!("{other:?}"),
        }
    }

    fn page(size: usize, cursor: Option<&str>) -> Page {
        let params = json!({ "cursor": cursor }).to_string();
        Page::requested(Kind::Prompts, NonZeroUsize::new(size).unwrap(), &object(&params)).unwrap()
    }

    /// All pages of a list, which may lose entries between one page and the next.
    fn pages(mut list: Vec<String>, size: usize, gone: &[String]) -> Vec<String> {
        let (mut all, mut cursor) = (Vec::new(), None);
        loop {
            let (items, next) = page(size, cursor.as_deref()).fill(&list, |key| key, |key| Some(key.clone()));
            assert!(items.len() <= size);
            all.extend(items);
            list.retain(|key| !gone.contains(key));
            match next {
                Some(next) => cursor = Some(next),
                None => return all,
            }
        }
    }

    proptest! {
        #[test]
        fn every_entry_is_in_one_page_even_where_others_go(
            list in prop::collection::btree_set(".{0,4}", 0..20),
            gone in prop::collection::vec(".{0,4}", 0..5),
            size in 1_usize..7,
        ) {
            let list: Vec<String> = list.into_iter().collect();
            let all = pages(list.clone(), size, &gone);
            let kept: Vec<&String> = all.iter().filter(|key| !gone.contains(key)).collect();
            prop_assert_eq!(kept, list.iter().filter(|key| !gone.contains(key)).collect::<Vec<_>>());
            prop_assert_eq!(pages(list.clone(), size, &[]), list);
        }
    }

    #[test]
    fn what_is_left_out_takes_no_place_in_a_page() {
        let list: Vec<String> = (10..30).map(|n| n.to_string()).collect();
        let even = |key: &String| key.ends_with(['0', '2', '4', '6', '8']).then(|| key.clone());
        let (items, next) = page(3, None).fill(&list, |key| key, even);
        assert_eq!(items, ["10", "12", "14"]);
        let (items, _) = page(3, next.as_deref()).fill(&list, |key| key, even);
        assert_eq!(items, ["16", "18", "20"]);
    }

    #[test]
    fn what_is_no_cursor_of_this_list_is_refused() {
        let cursor = page(1, None).fill(&["a", "b"], |key| key, |_| Some(())).1.unwrap();
        let refused = |kind, cursor: Value| {
            let params = json!({ "cursor": cursor }).to_string();
            Page::requested(kind, PAGE_SIZE, &object(&params)).map_err(|error| error.code)
        };
        assert!(refused(Kind::Prompts, json!(cursor)).is_ok() && refused(Kind::Prompts, json!(null)).is_ok());
        assert_eq!(refused(Kind::Resources, json!(cursor)).unwrap_err(), -32602);
        for bad in [
            json!("!!"),
            json!(5),
            json!(""),
            json!("a"),
            json!(["x"]),
            json!(format!("{cursor}=")),
            json!("cHJvbXB0cw"),
        ] {
            assert_eq!(refused(Kind::Prompts, bad.clone()).unwrap_err(), -32602, "{bad}");
        }
    }
}
