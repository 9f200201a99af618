//! Ctrl-C and Ctrl-\, which the terminal sends to this process, even if they are meant for a
//! program that it runs.

use signal_hook::consts::{SIGINT, SIGQUIT};
use signal_hook::flag::register_conditional_default;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

/// The signals of Ctrl-C and Ctrl-\.
pub(super) const KEYBOARD_SIGNALS: [i32; 2] = [SIGINT, SIGQUIT];

/// Whether these signals end the process at once. The first use installs the handlers, which cannot
/// be removed.
static ARE_ALLOWED: LazyLock<Arc<AtomicBool>> = LazyLock::new(|| {
    let are_allowed = Arc::new(AtomicBool::new(true));
    for signal in KEYBOARD_SIGNALS {
        // If this fails, the signal ends the process even while it should be ignored.
        _ = register_conditional_default(signal, Arc::clone(&are_allowed));
    }
    are_allowed
});

/// Ignores Ctrl-C and Ctrl-\, unless [`allow`] is called later.
pub(super) fn ignore() {
    ARE_ALLOWED.store(false, Ordering::Relaxed);
}

/// Lets Ctrl-C and Ctrl-\ end the process again.
pub(super) fn allow() {
    ARE_ALLOWED.store(true, Ordering::Relaxed);
}
