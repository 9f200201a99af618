//! A session id is valid only if it was created with the key, for the same owner.

use prompt_expander::transport::http::Keys;
use prompt_expander::transport::http::sessions::Sessions;

const KEY: &str = "the key of this property";
const NOW: u64 = 1_800_000_000;

/// Tries a text as an id, then inserts it into a valid id, at an offset given by its first byte.
pub(super) fn check(text: &[u8]) {
    let sessions = Sessions::new(Keys::parse(KEY).unwrap());
    let lossy = String::from_utf8_lossy(text);
    assert_eq!(sessions.verify(&lossy, "owner", NOW), None);
    let valid = sessions
        .create_id("2025-06-18", Some("codex"), "owner", NOW)
        .unwrap();
    assert_eq!(
        sessions.verify(&valid, &lossy, NOW).is_some(),
        lossy == "owner"
    );
    assert!(sessions.verify(&valid, "owner", NOW).is_some());
    let Some((offset, inserted)) = text.split_first() else {
        return;
    };
    let offset = usize::from(*offset) % valid.len();
    let inserted = String::from_utf8_lossy(inserted);
    let end = (offset + inserted.len()).min(valid.len());
    for changed in [
        format!("{}{inserted}{}", &valid[..offset], &valid[offset..]),
        format!("{}{inserted}{}", &valid[..offset], &valid[end..]),
        format!("{}{}", &valid[..offset], &valid[end..]),
    ] {
        assert_eq!(
            sessions.verify(&changed, "owner", NOW).is_some(),
            changed == valid,
            "{changed}"
        );
    }
}
