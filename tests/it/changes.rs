//! Which notifications are sent when files change: of each change that a client could see, rather
//! once too often than late.

#[cfg(unix)]
use crate::client::set_mode;
use crate::client::{Client, LEGACY, modern};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

const ID: &str = "io.modelcontextprotocol/subscriptionId";

const LISTS: [&str; 3] = [
    "prompts/list_changed",
    "resources/list_changed",
    "tools/list_changed",
];

/// An initialized client that has listed everything, so that it is notified of every change from
/// now on.
fn listening(mut client: Client) -> Client {
    client.initialize(LEGACY);
    for method in ["tools/list", "prompts/list", "resources/list"] {
        client.request(method, json!({}));
    }
    client
}

/// Waits until each of these was sent: a method, with the URI of a resource and the id of a listen.
#[track_caller]
fn hears(client: &mut Client, wanted: &[&str]) {
    let mut wanted: BTreeSet<&str> = wanted.iter().copied().collect();
    while !wanted.is_empty() {
        let heard = label(client.notification());
        wanted.remove(heard.as_str());
    }
    client.ignore_notifications();
}

fn label((method, params): (String, Value)) -> String {
    let of_listen = params["_meta"]
        .get(ID)
        .map(|id| format!(" to {id}"))
        .unwrap_or_default();
    let uri = params["uri"]
        .as_str()
        .map(|uri| format!(" {uri}"))
        .unwrap_or_default();
    format!("{method}{uri}{of_listen}")
}

/// Opens a `subscriptions/listen`; returns the notifications that the acknowledgement lists.
#[track_caller]
fn listen(client: &mut Client, id: &Value, notifications: Value) -> Value {
    let params = modern(json!({"notifications": notifications}));
    client.send(format!(
        "{}\n",
        json!({"jsonrpc": "2.0", "id": id, "method": "subscriptions/listen", "params": params})
    ));
    loop {
        let (method, params) = client.notification();
        if method == "subscriptions/acknowledged" {
            assert_eq!(params["_meta"], json!({ ID: id }));
            client.ignore_notifications();
            return params["notifications"].clone();
        }
    }
}

fn cancel(client: &mut Client, id: &Value) {
    let cancelled =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
    client.send(format!("{cancelled}\n"));
}

fn put(folder: &Path, file: &str, text: &str) {
    let path = folder.join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// What is changed below the root of a client, in words and in fact.
type Step = (&'static str, fn(&Path));

#[test]
fn each_kind_of_change_is_announced_to_all_lists() {
    let client = Client::new()
        .prompt("a.md", "A")
        .prompt("git/deep/x.md", "X");
    put(client.root(), "other/a.md", "Swapped.");
    put(client.root(), "other/svn/deep/x.md", "Swapped.");
    put(client.root(), "elsewhere/one.md", "1");
    put(client.root(), "elsewhere/folder/x.md", "X");
    #[cfg(unix)]
    {
        client.link("../elsewhere/one.md", "prompts/link.md");
        client.link(client.path("elsewhere/folder"), "prompts/folder");
    }
    let mut client = listening(client).stderr(None);
    let changes: [Step; 14] = [
        ("a new file", |root| put(root, "prompts/b.md", "B")),
        ("an edit", |root| put(root, "prompts/a.md", "Edited.")),
        ("a renamed file", |root| {
            fs::rename(root.join("prompts/a.md"), root.join("prompts/c.md")).unwrap()
        }),
        ("a removed file", |root| {
            fs::remove_file(root.join("prompts/c.md")).unwrap()
        }),
        ("a renamed folder", |root| {
            fs::rename(root.join("prompts/git"), root.join("prompts/svn")).unwrap()
        }),
        ("an edit in it", |root| {
            put(root, "prompts/svn/deep/x.md", "Edited.")
        }),
        ("a new folder", |root| {
            put(root, "prompts/new/folder/z.md", "Z")
        }),
        ("an edit in it", |root| {
            put(root, "prompts/new/folder/z.md", "Edited.")
        }),
        ("an edit behind a link", |root| {
            put(root, "elsewhere/one.md", "Edited.")
        }),
        ("an edit in a folder behind a link", |root| {
            put(root, "elsewhere/folder/x.md", "Edited.")
        }),
        ("a swapped folder", |root| {
            fs::rename(root.join("prompts"), root.join("away")).unwrap();
            fs::rename(root.join("other"), root.join("prompts")).unwrap();
        }),
        ("an edit in it", |root| {
            put(root, "prompts/svn/deep/x.md", "Edited.")
        }),
        ("the folder removed", |root| {
            fs::remove_dir_all(root.join("prompts")).unwrap()
        }),
        ("the folder made again", |root| {
            put(root, "prompts/a.md", "A")
        }),
    ];
    for (_, change) in changes {
        change(client.root());
        hears(&mut client, &LISTS);
    }
}

#[test]
fn a_folder_that_is_created_later_is_announced() {
    let client = Client::new()
        .arguments(["--no-builtin", "--prompts", "far/away/prompts"])
        .stderr(None);
    let mut client = listening(client);
    put(client.root(), "far/away/prompts/a.md", "A");
    hears(&mut client, &LISTS);
}

#[test]
fn nothing_is_announced_before_the_handshake_is_over_and_what_was_missed_is_at_its_end() {
    let mut client = Client::new().prompt("a.md", "A");
    listen(
        &mut client,
        &json!("other"),
        json!({"promptsListChanged": true}),
    );
    client.shake_hands(LEGACY);
    client.request("prompts/list", json!({}));
    client.request("resources/subscribe", json!({"uri": "prompt://a"}));
    client.save("a.md", "Before initialized.");
    assert_eq!(
        label(client.notification()),
        "prompts/list_changed to \"other\"",
        "only the other one hears of it"
    );
    client.send("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
    hears(
        &mut client,
        &[&LISTS[..], &["resources/updated prompt://a"]].concat(),
    );
}

#[test]
fn without_initialize_the_notification_that_ends_the_handshake_means_nothing() {
    let mut client = Client::new();
    client.send("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
    listen(&mut client, &json!(1), json!({"promptsListChanged": true}));
    client.save("a.md", "A");
    assert_eq!(label(client.notification()), "prompts/list_changed to 1");
    client.ignore_notifications();
}

#[test]
fn a_subscriber_is_notified_until_it_unsubscribes() {
    let mut client = Client::new()
        .prompt("a b.md", "A")
        .prompt("bad.md", "---\n");
    client.initialize(LEGACY);
    for uri in [
        "prompt://a%20b",
        "prompt://bad",
        "prompt://later",
        "prompt://a%20b",
    ] {
        assert_eq!(
            client.result("resources/subscribe", json!({"uri": uri})),
            json!({})
        );
    }
    for (file, updated) in [
        ("a b.md", "resources/updated prompt://a%20b"),
        ("bad.md", "resources/updated prompt://bad"),
        ("later.md", "resources/updated prompt://later"),
    ] {
        client.save(file, "Changed.");
        hears(&mut client, &[updated]);
    }
    for uri in ["prompt://a%20b", "prompt://never"] {
        assert_eq!(
            client.result("resources/unsubscribe", json!({"uri": uri})),
            json!({})
        );
    }
    // Those that are on the way have arrived before this acknowledgement.
    listen(&mut client, &json!(1), json!({}));
    client.save("a b.md", "Not announced.");
    client.save("later.md", "Announced.");
    loop {
        let heard = label(client.notification());
        assert_ne!(heard, "resources/updated prompt://a%20b");
        if heard == "resources/updated prompt://later" {
            break;
        }
    }
    client.ignore_notifications();
}

#[test]
fn a_subscription_to_what_can_be_no_prompt_is_not_found() {
    let mut client = Client::new();
    for uri in ["file:///x", ""] {
        let error = client.request("resources/subscribe", json!({"uri": uri}))["error"].clone();
        assert_eq!(
            (&error["code"], &error["data"]),
            (&json!(-32002), &json!({"uri": uri}))
        );
    }
}

#[test]
fn a_listen_is_acknowledged_first_then_tagged_with_its_id_and_ends_when_it_is_cancelled() {
    for id in [
        json!(5),
        json!("5"),
        json!(""),
        json!(-1),
        json!(9_007_199_254_740_993_u64),
    ] {
        let mut client = Client::new().prompt("a.md", "A");
        let honored = listen(
            &mut client,
            &id,
            json!({"promptsListChanged": true, "toolsListChanged": true, "x": 1}),
        );
        assert_eq!(
            honored,
            json!({"promptsListChanged": true, "toolsListChanged": true})
        );
        // Another type of id is another id.
        cancel(&mut client, &json!([id]));
        cancel(
            &mut client,
            &if id.is_string() {
                json!(5)
            } else {
                json!(id.to_string())
            },
        );
        client.save("b.md", "B");
        hears(
            &mut client,
            &[
                &format!("prompts/list_changed to {id}"),
                &format!("tools/list_changed to {id}"),
            ],
        );
        cancel(&mut client, &id);
        listen(
            &mut client,
            &json!("marker"),
            json!({"promptsListChanged": true}),
        );
        client.save("d.md", "D");
        assert_eq!(
            label(client.notification()),
            "prompts/list_changed to \"marker\""
        );
        client.ignore_notifications();
    }
}

#[test]
fn a_listen_receives_only_what_it_requested() {
    let mut client = Client::new().prompt("a.md", "A");
    let uris = json!(["prompt://a", "prompt://later", "file:///x"]);
    let honored = listen(
        &mut client,
        &json!("updates"),
        json!({"resourceSubscriptions": uris}),
    );
    assert_eq!(
        honored,
        json!({"resourceSubscriptions": ["prompt://a", "prompt://later"]})
    );
    assert_eq!(
        listen(
            &mut client,
            &json!("nothing"),
            json!({"promptsListChanged": false})
        ),
        json!({})
    );
    assert_eq!(
        listen(
            &mut client,
            &json!("lists"),
            json!({"resourcesListChanged": true, "resourceSubscriptions": []})
        ),
        json!({"resourcesListChanged": true, "resourceSubscriptions": []})
    );
    client.save("a.md", "Body.");
    let heard: BTreeSet<String> = (0..2).map(|_| label(client.notification())).collect();
    let wanted = [
        "resources/updated prompt://a to \"updates\"",
        "resources/list_changed to \"lists\"",
    ];
    assert!(
        wanted.iter().all(|wanted| heard.contains(*wanted)),
        "{heard:?}"
    );
    assert!(
        heard
            .iter()
            .all(|heard| !heard.contains("nothing") && !heard.starts_with("prompts")),
        "{heard:?}"
    );
    client.ignore_notifications();
}

#[test]
fn a_malformed_listen_is_invalid_params_and_a_second_with_the_same_id_an_invalid_request() {
    let mut client = Client::new();
    for notifications in [
        json!(null),
        json!("x"),
        json!([]),
        json!([true, ["prompt://a"]]),
        json!({"promptsListChanged": "yes"}),
        json!({"toolsListChanged": 1}),
        json!({"resourcesListChanged": null}),
        json!({"resourceSubscriptions": "prompt://a"}),
        json!({"resourceSubscriptions": [5]}),
    ] {
        let answer = client.request(
            "subscriptions/listen",
            modern(json!({"notifications": notifications})),
        );
        assert_eq!(answer["error"]["code"], -32602, "{notifications}");
    }
    assert_eq!(
        client.request("subscriptions/listen", modern(json!({})))["error"]["code"],
        -32602
    );
    listen(&mut client, &json!(7), json!({}));
    let params = modern(json!({"notifications": {}}));
    let again =
        json!({"jsonrpc": "2.0", "id": 7, "method": "subscriptions/listen", "params": params})
            .to_string();
    let answer = client.line(&again);
    assert_eq!(
        (&answer["id"], &answer["error"]["code"]),
        (&json!(7), &json!(-32600))
    );
    cancel(&mut client, &json!(7));
    listen(&mut client, &json!(7), json!({}));
}

#[test]
fn a_hundred_listens_and_a_legacy_client_on_one_pipe_are_each_notified() {
    let mut client = listening(Client::new().prompt("a.md", "A"));
    for id in 0..100 {
        listen(&mut client, &json!(id), json!({"promptsListChanged": true}));
    }
    client.save("a.md", "Other.");
    let of_listens: Vec<String> = (0..100)
        .map(|id| format!("prompts/list_changed to {id}"))
        .collect();
    let wanted: Vec<&str> = of_listens.iter().map(String::as_str).chain(LISTS).collect();
    hears(&mut client, &wanted);
}

#[test]
fn ten_thousand_file_events_are_announced_in_bursts() {
    let mut client = listening(Client::new().prompt("a.md", "A"));
    for round in 0..20 {
        for number in 0..500 {
            client.write(&format!("p{number}.md"), format!("Round {round}."));
        }
    }
    for number in 0..500 {
        fs::remove_file(client.prompts().join(format!("p{number}.md"))).unwrap();
    }
    listen(&mut client, &json!(1), json!({"promptsListChanged": true}));
    client.save("last.md", "L");
    let mut count = 0;
    while label(client.notification()) != "prompts/list_changed to 1" {
        count += 1;
    }
    assert!(count < 100, "{count} notifications");
    assert_eq!(client.names(), "a last");
    client.ignore_notifications();
}

#[test]
fn the_end_of_input_is_the_end_whatever_is_open() {
    let mut client = listening(Client::new().prompt("a.md", "A"));
    listen(&mut client, &json!(1), json!({"promptsListChanged": true}));
    client.request("resources/subscribe", json!({"uri": "prompt://a"}));
    let (rest, status, stderr) = client.finish();
    assert_eq!(
        (rest.as_str(), status.code(), stderr.as_str()),
        ("", Some(0), "")
    );
}

#[cfg(unix)]
#[test]
fn a_folder_that_can_be_read_again_is_watched_again() {
    let client = Client::new()
        .unprivileged()
        .prompt("a.md", "A")
        .prompt("locked/x.md", "X");
    let locked = client.path("prompts/locked");
    let set = |mode: u32| set_mode(&locked, mode);
    set(0o000);
    let mut client = listening(client);
    set(0o755);
    hears(&mut client, &LISTS);
    client.save("locked/x.md", "Edited.");
    hears(&mut client, &LISTS);
}

#[test]
fn listens_and_subscriptions_have_limits_that_say_so() {
    use prompt_expander::server::{MAX_LISTENS, MAX_SUBSCRIBED};
    let mut client = Client::new();
    for id in 0..MAX_LISTENS {
        listen(&mut client, &json!(id), json!({}));
    }
    let error =
        client.request("subscriptions/listen", modern(json!({"notifications": {}})))["error"]
            .clone();
    assert_eq!(
        error,
        json!({"code": -32600, "message": "invalid request: a subscriptions/listen with this id is already open; cancel it, or use \
               another id"})
    );
    let params = modern(json!({"notifications": {}}));
    let one_more =
        json!({"jsonrpc": "2.0", "id": "more", "method": "subscriptions/listen", "params": params})
            .to_string();
    let error = client.line(&one_more)["error"].clone();
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("more than 1000 subscriptions/listen; cancel some"),
        "{error}"
    );

    let mut client = Client::new();
    let uris: Vec<String> = (0..=MAX_SUBSCRIBED)
        .map(|number| format!("prompt://p{number}"))
        .collect();
    let params = modern(json!({"notifications": {"resourceSubscriptions": uris}}));
    let error = client.request("subscriptions/listen", params)["error"].clone();
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("more than 10000 subscriptions to resources"),
        "{error}"
    );
}

#[test]
fn what_is_on_disk_is_served_before_the_watch_has_seen_it() {
    let mut client = listening(Client::new().prompt("p.md", "000"));
    for round in 0..200 {
        client.save("p.md", format!("{round:03}"));
        client.expand("p", "").text(&format!("{round:03}"));
        let got = client.result("prompts/get", json!({"name": "p"}));
        assert_eq!(got["messages"][0]["content"]["text"], format!("{round:03}"));
        let listed = client.result("prompts/list", json!({}))["prompts"][0]["description"].clone();
        assert_eq!(listed, format!("{round:03}"));
    }
    client.ignore_notifications();
}

/// If the system has no watch left, the files are polled, and a warning says so once.
#[cfg(target_os = "linux")]
#[test]
fn without_a_watch_changes_are_announced_all_the_same() {
    // Three standard streams, the output once more, two ends of the pipe that wakes the loop, and
    // two to read a folder and a file: nothing is left for the three that a watch needs.
    let mut client = Client::new().prompt("a.md", "A").after("ulimit -n 6").stderr(Some(
        "warning: the system does not report changed prompt files (Too many open files (os error 24)); they are checked \
         every 700 milliseconds\n",
    ));
    client.initialize(LEGACY);
    client.request("prompts/list", json!({}));
    for file in ["b.md", "c.md"] {
        client.save(file, "New.");
        while client.notification().0 != "tools/list_changed" {}
    }
    client.ignore_notifications();
}
