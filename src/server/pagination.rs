//! Pagination of lists, with cursors that require no state in the server (2025-11-25,
//! "Pagination").
//!
//! A cursor encodes the list and the key of the last entry before the page. It stays valid across
//! processes and while the list changes: even if that entry is removed, the page starts with the
//! next one.

use super::failure::Failure;
use crate::mcp::PaginatedParams;
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::num::NonZeroUsize;

/// A page requested by a client.
#[derive(Debug)]
pub(super) struct Page {
    /// A hash of the list's identity, including any filter.
    list_hash: u64,
    size: NonZeroUsize,
    /// The key of the last entry before the page, or `None` for the first page.
    after: Option<String>,
}

impl Page {
    /// Creates the page for the cursor of a request. Without a cursor, or with an empty one, this
    /// is the first page. `list_id` identifies the list and its filter.
    ///
    /// # Errors
    /// Fails if the cursor is invalid or belongs to another list or filter.
    pub(super) fn from_cursor(
        list_id: impl Hash,
        size: NonZeroUsize,
        cursor: Option<&str>,
    ) -> Result<Page, Failure> {
        let mut hasher = DefaultHasher::new();
        list_id.hash(&mut hasher);
        let list_hash = hasher.finish();
        let after = match cursor {
            None | Some("") => None, // an empty cursor also requests the first page
            Some(cursor) => Some(decode_cursor(list_hash, cursor).ok_or_else(invalid_cursor)?),
        };
        Ok(Page {
            list_hash,
            size,
            after,
        })
    }

    /// Collects the items of the page. Returns them with the cursor of the next page, if there is
    /// one.
    ///
    /// `entries` must be sorted by `key`. `make` converts an entry to an item, or returns `None` to
    /// skip it.
    pub(super) fn collect<K, T>(
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
            // If all entries after this one are skipped, the next page is empty.
            let has_next_entry = index + 1 < entries.len();
            if items.len() == self.size.get() && has_next_entry {
                let cursor = encode_cursor(self.list_hash, key(entry));
                return (items, Some(cursor));
            }
        }
        (items, None)
    }
}

/// Checks a request for a list that always has a single page.
///
/// # Errors
/// Fails if there is a cursor.
pub(super) fn reject_cursor(params: PaginatedParams<'_>) -> Result<(), Failure> {
    match params.cursor {
        None | Some("") => Ok(()), // an empty cursor also requests the first page
        Some(_) => Err(invalid_cursor()),
    }
}

fn invalid_cursor() -> Failure {
    Failure::invalid_params("`cursor` was not returned by this list; omit it to get the first page")
}

/// Returns the cursor of the page that starts after `key`.
fn encode_cursor(list_hash: u64, key: &str) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(format!("{list_hash:016x}:{key}"))
}

/// Returns the key in a cursor, or `None` if the cursor is invalid or belongs to another list.
fn decode_cursor(list_hash: u64, cursor: &str) -> Option<String> {
    let decoded = BASE64_URL_SAFE_NO_PAD.decode(cursor).ok()?;
    let text = String::from_utf8(decoded).ok()?;
    let key = text.strip_prefix(&format!("{list_hash:016x}:"))?;
    Some(key.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn requested(list: &str, size: usize, cursor: Option<&str>) -> Result<Page, Failure> {
        Page::from_cursor(list, NonZeroUsize::new(size).unwrap(), cursor)
    }

    fn page(size: usize, cursor: Option<&str>) -> Page {
        requested("prompts", size, cursor).unwrap()
    }

    /// Returns all pages of a list from which entries are removed between one page and the next.
    fn pages(mut list: Vec<String>, size: usize, removed: &[String]) -> Vec<String> {
        let (mut all, mut cursor) = (Vec::new(), None);
        loop {
            let (items, next) =
                page(size, cursor.as_deref()).collect(&list, |key| key, |key| Some(key.clone()));
            assert!(items.len() <= size);
            all.extend(items);
            list.retain(|key| !removed.contains(key));
            match next {
                Some(next) => cursor = Some(next),
                None => return all,
            }
        }
    }

    proptest! {
        #[test]
        fn every_entry_is_in_one_page_even_while_others_are_removed(
            list in prop::collection::btree_set(".{0,4}", 0..20),
            removed in prop::collection::vec(".{0,4}", 0..5),
            size in 1_usize..7,
        ) {
            let list: Vec<String> = list.into_iter().collect();
            let all = pages(list.clone(), size, &removed);
            let remaining: Vec<&String> = all.iter().filter(|key| !removed.contains(key)).collect();
            prop_assert_eq!(remaining, list.iter().filter(|key| !removed.contains(key)).collect::<Vec<_>>());
            prop_assert_eq!(pages(list.clone(), size, &[]), list);
        }
    }

    #[test]
    fn an_entry_that_is_left_out_does_not_count_toward_the_size_of_a_page() {
        let list: Vec<String> = (10..30).map(|n| n.to_string()).collect();
        let even = |key: &String| {
            key.ends_with(['0', '2', '4', '6', '8'])
                .then(|| key.clone())
        };
        let (items, next) = page(3, None).collect(&list, |key| key, even);
        assert_eq!(items, ["10", "12", "14"]);
        let (items, _) = page(3, next.as_deref()).collect(&list, |key| key, even);
        assert_eq!(items, ["16", "18", "20"]);
    }

    #[test]
    fn a_cursor_of_another_list_is_refused() {
        let cursor = page(1, None)
            .collect(&["a", "b"], |key| key, |_| Some(()))
            .1
            .unwrap();
        assert!(requested("prompts", 1, Some(&cursor)).is_ok());
        assert!(requested("resources", 1, Some(&cursor)).is_err());
        assert!(
            reject_cursor(PaginatedParams {
                cursor: Some(&cursor)
            })
            .is_err()
        );
        for invalid in ["!!", "a", &format!("{cursor}="), "cHJvbXB0cw"] {
            assert!(requested("prompts", 1, Some(invalid)).is_err(), "{invalid}");
        }
    }
}
