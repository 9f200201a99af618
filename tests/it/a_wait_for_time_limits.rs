//! The time limits of the server over HTTP. Each takes half a minute or more, so all are waited for
//! at once. Tests are started in order of their names, and this one has to be the first: the others
//! run meanwhile.

use crate::{http, tls, websocket};
use std::thread;

#[test]
fn clients_that_are_slow_silent_or_do_not_read_are_disconnected_and_others_are_served() {
    let waits: [fn(); 6] = [
        http::a_slow_or_silent_client_is_disconnected,
        http::a_client_that_never_reads_is_disconnected_and_others_are_served,
        websocket::a_client_that_does_not_read_is_closed_and_the_others_are_served,
        websocket::a_client_that_does_not_finish_a_message_is_closed,
        websocket::an_idle_client_is_pinged_and_closed_if_it_does_not_answer,
        tls::a_client_that_does_not_finish_the_handshake_is_disconnected,
    ];
    thread::scope(|scope| {
        for wait in waits {
            scope.spawn(wait);
        }
    });
}
