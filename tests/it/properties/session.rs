//! No text is the id of a session but one that was made with the key, for its owner.

use prompt_expander::transport::http::Keys;
use prompt_expander::transport::http::sessions::Sessions;

const KEY: &str = "the key of this property";
const NOW: u64 = 1_800_000_000;

/// Tries a text as an id, and puts it into a valid id at the place that its first byte says.
pub(super) fn check(text: &[u8]) {
    let sessions = Sessions::new(Keys::parse(KEY).unwrap());
    let lossy = String::from_utf8_lossy(text);
    assert_eq!(sessions.read(&lossy, "owner", NOW), None);
    let valid = sessions
        .make("2025-06-18", Some("codex"), "owner", NOW)
        .unwrap();
    assert_eq!(
        sessions.read(&valid, &lossy, NOW).is_some(),
        lossy == "owner"
    );
    assert!(sessions.read(&valid, "owner", NOW).is_some());
    let Some((place, inserted)) = text.split_first() else {
        return;
    };
    let place = usize::from(*place) % valid.len();
    let inserted = String::from_utf8_lossy(inserted);
    let end = (place + inserted.len()).min(valid.len());
    for changed in [
        format!("{}{inserted}{}", &valid[..place], &valid[place..]),
        format!("{}{inserted}{}", &valid[..place], &valid[end..]),
        format!("{}{}", &valid[..place], &valid[end..]),
    ] {
        assert_eq!(
            sessions.read(&changed, "owner", NOW).is_some(),
            changed == valid,
            "{changed}"
        );
    }
}
