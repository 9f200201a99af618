//! Ctrl-C while another program has the terminal. It reaches all processes of the terminal; only that program should react to it.

/// Runs something during which this process ignores Ctrl-C.
#[cfg(unix)]
pub(super) fn ignored_during<T>(run: impl FnOnce() -> T) -> T {
    use signal_hook::consts::{SIGINT, SIGQUIT};
    let received = std::sync::Arc::default();
    let interrupts =
        [SIGINT, SIGQUIT].map(|signal| signal_hook::flag::register(signal, std::sync::Arc::clone(&received)));
    let result = run();
    for interrupt in interrupts.into_iter().flatten() {
        signal_hook::low_level::unregister(interrupt);
    }
    result
}

/// Runs something.
#[cfg(not(unix))]
pub(super) fn ignored_during<T>(run: impl FnOnce() -> T) -> T {
    run()
}
