//! Which notifications are sent when files change.
//!
//! A test that expects no notification of a change makes another change after it, and expects notifications of that one
//! only. The second change is to a marker file: only its subscriber is notified, so the notification cannot be mistaken for
//! one of the first change ([`expect_only_marker`]).

use crate::client::{Client, LEGACY, modern};
use serde_json::{Value, json};
use std::fs;

const ID: &str = "io.modelcontextprotocol/subscriptionId";

const LISTS: [&str; 3] = ["prompts/list_changed", "resources/list_changed", "tools/list_changed"];

/// Waits until the library has been watched for a while: of a change before that, more may be announced than changed.
fn settle(client: &mut Client) {
    listen(client, &json!("settle"), json!({"promptsListChanged": true}));
    client.save("settle.md", "Settle.");
    assert_eq!(client.notification().0, "prompts/list_changed");
    fs::remove_file(client.prompts().join("settle.md")).unwrap();
    assert_eq!(client.notification().0, "prompts/list_changed");
    cancel(client, &json!("settle"));
}

/// An initialized client that has listed everything, so that it is notified of every change from now on.
fn listening(mut client: Client) -> Client {
    settle(&mut client);
    listening_from_the_start(client)
}

/// The same, without waiting.
fn listening_from_the_start(mut client: Client) -> Client {
    client.initialize(LEGACY);
    for method in ["tools/list", "prompts/list", "resources/list"] {
        client.request(method, json!({}));
    }
    client
}

/// Adds a file; the next notifications are about that file.
#[track_caller]
fn only_the_next_file_is_announced(client: &mut Client) {
    client.save("the-next-file.md", "New.");
    assert_eq!(client.notifications(3), LISTS);
}

/// Subscribes to a file that only [`expect_only_marker`] changes. Lists of prompts do not show the change.
fn add_marker(client: &mut Client) {
    client.save("marker.md", "---\ndescription: Marker\n---\n");
    listen(client, &json!("marker"), json!({"resourceSubscriptions": ["prompt://marker"]}));
}

/// Changes the marker; the next notification is about the marker.
#[track_caller]
fn expect_only_marker(client: &mut Client, round: usize) {
    client.save("marker.md", format!("---\ndescription: Marker\n---\nRound {round}."));
    assert_eq!(
        client.notification(),
        ("resources/updated".to_owned(), json!({"uri": "prompt://marker", "_meta": {ID: "marker"}}))
    );
}

/// Opens a `subscriptions/listen`; returns the notifications that the acknowledgement lists.
#[track_caller]
fn listen(client: &mut Client, id: &Value, notifications: Value) -> Value {
    let params = modern(json!({"notifications": notifications}));
    client
        .send(format!("{}\n", json!({"jsonrpc": "2.0", "id": id, "method": "subscriptions/listen", "params": params})));
    let (method, params) = client.notification();
    assert_eq!((method.as_str(), &params["_meta"]), ("subscriptions/acknowledged", &json!({ ID: id })));
    params["notifications"].clone()
}

fn cancel(client: &mut Client, id: &Value) {
    let cancelled = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
    client.send(format!("{cancelled}\n"));
}

#[test]
fn a_template_of_new_is_announced_to_lists_of_prompts_when_it_is_changed() {
    let mut client = listening(Client::new().prompt("a.md", "A"));
    assert!(client.run(["new", "standup"], "").status.success());
    // The description of a tool is made without reading files.
    assert_eq!(client.notifications(1), ["tools/list_changed"]);
    client.request("tools/list", json!({}));
    let file = fs::read_to_string(client.prompts().join("standup.md")).unwrap();
    client.save("standup.md", file.replace("Say here what the agent is to do with", "Summarize"));
    assert_eq!(client.notifications(2), ["prompts/list_changed", "resources/list_changed"]);
}

#[test]
fn a_legacy_client_is_notified_of_each_changed_list_once_and_without_a_tag() {
    let mut client = listening(Client::new().prompt("a.md", "---\ndescription: D\n---\nA"));
    client.save("b.md", "B");
    for _ in 0..3 {
        let (method, params) = client.notification();
        assert!(LISTS.contains(&method.as_str()), "{method}");
        assert_eq!(params, Value::Null);
    }
    client.save("a.md", "---\ndescription: other\n---\nA");
    assert_eq!(client.notifications(2), ["prompts/list_changed", "resources/list_changed"]);
    client.save("a.md", "---\ndescription: other\n---\nOnly the body.");
    assert_eq!(client.notifications(1), ["resources/list_changed"]);
    fs::remove_file(client.prompts().join("b.md")).unwrap();
    assert_eq!(client.notifications(3), LISTS);
    only_the_next_file_is_announced(&mut client);
}

#[test]
fn a_change_of_tags_metadata_or_an_argument_s_title_is_announced_to_lists_of_prompts() {
    let mut client = listening(Client::new().prompt("a.md", "A"));
    for frontmatter in
        ["tags: [x]", "tags: [y]", "category: x", "author: x", "version: 1", "version: 2", "icons: https://x"]
    {
        client.save("a.md", format!("---\n{frontmatter}\n---\nA"));
        assert_eq!(client.notifications(2), LISTS[..2], "{frontmatter}");
    }
    for title in ["One", "Two"] {
        client.save("a.md", format!("---\narguments:\n  - {{name: a, title: {title}}}\n---\nA {{{{a}}}}"));
        assert_eq!(client.notifications(2), LISTS[..2], "{title}");
    }
    only_the_next_file_is_announced(&mut client);
}

#[test]
fn a_rewrite_with_equal_content_is_not_announced() {
    let mut client = Client::new().prompt("a.md", "A").prompt("b.md", "B");
    settle(&mut client);
    let all = json!({"toolsListChanged": true, "promptsListChanged": true,
        "resourceSubscriptions": ["prompt://a", "prompt://b"]});
    listen(&mut client, &json!("all"), all);
    add_marker(&mut client);
    assert_eq!(client.notifications(2), ["prompts/list_changed", "tools/list_changed"], "the marker was added");
    for round in 0..3 {
        client.write("a.md", "A");
        let other = client.prompts().join("b.tmp");
        fs::write(&other, "B").unwrap();
        fs::rename(&other, client.prompts().join("b.md")).unwrap();
        client.save(".hidden.md", "H");
        client.save("notes.txt", format!("N {round}"));
        expect_only_marker(&mut client, round);
    }
}

#[test]
fn renames_removed_folders_and_swapped_folders_are_announced() {
    let mut client = listening(Client::new().prompt("a.md", "A").prompt("git/deep/x.md", "X"));
    let prompts = client.prompts();
    fs::rename(prompts.join("a.md"), prompts.join("b.md")).unwrap();
    assert_eq!(client.notifications(3), LISTS);
    fs::rename(prompts.join("git"), prompts.join("svn")).unwrap();
    assert_eq!(client.notifications(3), LISTS);
    client.save("svn/deep/x.md", "In a folder that was renamed.");
    assert_eq!(client.notifications(2), LISTS[..2]);
    client.save("new/folder/z.md", "Z");
    assert_eq!(client.notifications(3), LISTS);
    client.save("new/folder/z.md", "In a folder that is new.");
    assert_eq!(client.notifications(2), LISTS[..2]);
    fs::remove_dir_all(prompts.join("svn")).unwrap();
    assert_eq!(client.notifications(3), LISTS);
    only_the_next_file_is_announced(&mut client);
}

#[test]
fn a_folder_that_is_swapped_is_announced_and_watched() {
    let mut client = Client::new().prompt("a.md", "A").prompt("git/b.md", "B");
    let other = client.root().join("other");
    fs::create_dir_all(other.join("git")).unwrap();
    fs::write(other.join("a.md"), "Swapped.").unwrap();
    fs::write(other.join("git/b.md"), "Swapped too.").unwrap();
    settle(&mut client);
    listen(&mut client, &json!(1), json!({"resourceSubscriptions": ["prompt://git/b"]}));
    fs::rename(client.prompts(), client.root().join("away")).unwrap();
    fs::rename(&other, client.prompts()).unwrap();
    assert_eq!(client.notifications(1), ["resources/updated prompt://git/b"]);
    client.save("git/b.md", "In a directory that was swapped.");
    assert_eq!(client.notifications(1), ["resources/updated prompt://git/b"]);
    client.ignore_notifications(); // it may have been looked at between the two steps of the swap
}

#[test]
fn a_directory_that_is_deleted_and_made_again_is_watched_again() {
    let mut client = listening(Client::new().prompt("a.md", "A")).stderr(None);
    for round in 0..3 {
        fs::remove_dir_all(client.prompts()).unwrap();
        assert_eq!(client.notifications(3), LISTS, "{round}");
        client.save("a.md", "A");
        assert_eq!(client.notifications(3), LISTS, "{round}");
    }
    only_the_next_file_is_announced(&mut client);
}

#[test]
fn a_folder_that_is_created_later_is_announced() {
    let mut client = Client::new().arguments(["--no-builtin", "--prompts", "far/away/prompts"]).stderr(None);
    client = listening_from_the_start(client);
    fs::create_dir_all(client.root().join("far/away/prompts")).unwrap();
    fs::write(client.root().join("far/away/prompts/a.md"), "A").unwrap();
    assert_eq!(client.notifications(3), LISTS);
}

#[cfg(unix)]
#[test]
fn what_a_link_leads_to_is_watched_and_so_is_the_link() {
    use std::os::unix::fs::symlink;
    let mut client = Client::new();
    let elsewhere = client.root().join("elsewhere");
    fs::create_dir_all(elsewhere.join("folder")).unwrap();
    for (file, text) in [("one.md", "1"), ("two.md", "2"), ("folder/x.md", "X")] {
        fs::write(elsewhere.join(file), text).unwrap();
    }
    symlink("../elsewhere/one.md", client.prompts().join("link.md")).unwrap();
    symlink(elsewhere.join("folder"), client.prompts().join("folder")).unwrap();
    client = listening(client);
    fs::write(elsewhere.join("one.md"), "Edited.").unwrap();
    assert_eq!(client.notifications(2), LISTS[..2]);
    fs::write(elsewhere.join("folder/x.md"), "Edited.").unwrap();
    assert_eq!(client.notifications(2), LISTS[..2]);
    fs::rename(elsewhere.join("two.md"), elsewhere.join("one.md")).unwrap();
    assert_eq!(client.notifications(2), LISTS[..2]);
    fs::rename(elsewhere.join("folder"), elsewhere.join("gone")).unwrap();
    assert_eq!(client.notifications(3), LISTS);
    only_the_next_file_is_announced(&mut client);
}

#[test]
fn nothing_is_announced_before_the_handshake_is_over() {
    let mut client = Client::new().prompt("a.md", "A");
    settle(&mut client);
    add_marker(&mut client); // so that the library is watched
    client.request("prompts/list", json!({})); // no handshake at all
    client.save("a.md", "Before initialize.");
    expect_only_marker(&mut client, 1);
    client.shake_hands(LEGACY);
    client.request("prompts/list", json!({}));
    client.request("resources/subscribe", json!({"uri": "prompt://a"}));
    client.save("a.md", "Before initialized.");
    client.save("b.md", "B");
    expect_only_marker(&mut client, 2);
    client.send("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
    let everything = client.notifications(4);
    assert_eq!(everything, [&LISTS[..2], &["resources/updated prompt://a", LISTS[2]]].concat());
    client.save("a.md", "Now it is told.");
    assert_eq!(
        client.notifications(3),
        ["prompts/list_changed", "resources/list_changed", "resources/updated prompt://a"]
    );
    // Another conversation begins on the pipe: it has subscribed to nothing.
    client.initialize(LEGACY);
    client.save("a.md", "Only the lists are announced.");
    assert_eq!(client.notifications(2), LISTS[..2]);
}

#[test]
fn without_initialize_the_notification_that_ends_the_handshake_means_nothing() {
    let mut client = Client::new();
    client.send("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
    listen(&mut client, &json!(1), json!({"promptsListChanged": true}));
    client.save("a.md", "A");
    assert_eq!(client.notification().1["_meta"][ID], 1);
}

#[test]
fn a_change_between_the_list_of_tools_and_the_baseline_is_announced() {
    let mut client = Client::new();
    for number in 0..2000 {
        client.save(&format!("p{number}.md"), "P"); // the first look takes a while
    }
    client.initialize(LEGACY);
    client.request("tools/list", json!({}));
    client.save("new.md", "N");
    while client.notification().0 != "tools/list_changed" {}
    client.ignore_notifications();
}

#[test]
fn a_list_that_showed_a_state_in_the_middle_of_a_burst_is_announced() {
    let mut client = listening(Client::new().prompt("a.md", "A"));
    let (file, away) = (client.prompts().join("a.md"), client.root().join("a.md"));
    fs::rename(&file, &away).unwrap();
    assert_eq!(client.request("prompts/list", json!({}))["result"]["prompts"], json!([]));
    fs::rename(&away, &file).unwrap();
    // In the end all is as it was before the burst, but not as the client saw it.
    while client.notification().0 != "prompts/list_changed" {}
    client.ignore_notifications();
}

#[test]
fn a_subscriber_is_notified_when_the_file_of_its_resource_changes() {
    let mut client =
        Client::new().prompt("a b.md", "---\ndescription: D\n---\nA").prompt("other.md", "O").prompt("bad.md", "---\n");
    settle(&mut client);
    client.initialize(LEGACY);
    for uri in ["prompt://a%20b", "prompt://bad", "prompt://a%20b"] {
        assert_eq!(client.request("resources/subscribe", json!({"uri": uri}))["result"], json!({}));
    }
    client.request("resources/list", json!({}));
    client.save("a b.md", "---\ndescription: D\n---\nBody.");
    assert_eq!(client.notifications(2), ["resources/list_changed", "resources/updated prompt://a%20b"]);
    client.save("bad.md", "---\nstill bad\n");
    assert_eq!(client.notifications(1), ["resources/updated prompt://bad"]);
    client.save("other.md", "Other.");
    assert_eq!(client.notifications(2), LISTS[..2]);
    fs::remove_file(client.prompts().join("a b.md")).unwrap();
    assert_eq!(client.notifications(4)[2..], ["resources/updated prompt://a%20b", "tools/list_changed"]);
    client.save("a b.md", "Back again.");
    assert_eq!(client.notifications(4)[2..], ["resources/updated prompt://a%20b", "tools/list_changed"]);
    for uri in ["prompt://a%20b", "prompt://never"] {
        assert_eq!(client.request("resources/unsubscribe", json!({"uri": uri}))["result"], json!({}));
    }
    client.save("a b.md", "Not announced.");
    assert_eq!(client.notifications(2), LISTS[..2]);
    only_the_next_file_is_announced(&mut client);
}

#[test]
fn a_subscription_to_an_unknown_uri_is_not_found() {
    let mut client = Client::new();
    for uri in ["prompt://nope", "file:///x", ""] {
        let error = client.request("resources/subscribe", json!({"uri": uri}))["error"].clone();
        assert_eq!((&error["code"], &error["data"]), (&json!(-32002), &json!({"uri": uri})));
    }
}

#[test]
fn a_listen_is_acknowledged_first_then_tagged_with_its_id_and_ends_when_it_is_cancelled() {
    for id in [json!(5), json!("5"), json!(""), json!(-1), json!(9_007_199_254_740_993_u64)] {
        let mut client = Client::new().prompt("a.md", "A");
        let honored = listen(&mut client, &id, json!({"promptsListChanged": true, "toolsListChanged": true, "x": 1}));
        assert_eq!(honored, json!({"promptsListChanged": true, "toolsListChanged": true}));
        client.save("b.md", "B");
        for _ in 0..2 {
            let (method, params) = client.notification();
            assert!(["prompts/list_changed", "tools/list_changed"].contains(&method.as_str()), "{method}");
            assert_eq!(params, json!({"_meta": { ID: id }}));
        }
        // Another type of id is another id.
        cancel(&mut client, &json!([id]));
        cancel(&mut client, &if id.is_string() { json!(5) } else { json!(id.to_string()) });
        client.save("c.md", "C");
        assert_eq!(client.notifications(2), ["prompts/list_changed", "tools/list_changed"]);
        cancel(&mut client, &id);
        listen(&mut client, &json!("marker"), json!({"promptsListChanged": true}));
        client.save("d.md", "D");
        assert_eq!(client.notification().1["_meta"][ID], "marker");
    }
}

#[test]
fn listens_that_arrive_while_the_watch_begins_are_each_acknowledged_once_and_then_notified() {
    let mut client = Client::new();
    for number in 0..3000 {
        client.save(&format!("p{number}.md"), "P"); // the first look takes a while
    }
    for id in 0..20 {
        let params = modern(json!({"notifications": {"promptsListChanged": true}}));
        client.send(format!(
            "{}\n",
            json!({"jsonrpc": "2.0", "id": id, "method": "subscriptions/listen", "params": params})
        ));
    }
    cancel(&mut client, &json!(0));
    client.expand("p1", "").text("P");
    for id in 0..20 {
        assert_eq!(
            client.notification(),
            (
                "subscriptions/acknowledged".to_owned(),
                json!({
                    "notifications": {"promptsListChanged": true},
                    "_meta": { ID: id }
                })
            )
        );
    }
    client.save("new.md", "N");
    for id in 1..20 {
        assert_eq!(client.notification().1["_meta"][ID], id);
    }
}

#[test]
fn a_listen_receives_only_what_it_requested() {
    let mut client = Client::new().prompt("a.md", "---\ndescription: D\n---\nA").prompt("b.md", "B");
    let uris = json!(["prompt://a", "prompt://later", "file:///x"]);
    settle(&mut client);
    let honored = listen(&mut client, &json!("updates"), json!({"resourceSubscriptions": uris}));
    assert_eq!(honored, json!({"resourceSubscriptions": ["prompt://a", "prompt://later"]}));
    assert_eq!(listen(&mut client, &json!("nothing"), json!({"promptsListChanged": false})), json!({}));
    assert_eq!(
        listen(&mut client, &json!("lists"), json!({"resourcesListChanged": true, "resourceSubscriptions": []})),
        json!({"resourcesListChanged": true, "resourceSubscriptions": []})
    );
    client.save("a.md", "---\ndescription: D\n---\nBody.");
    let mut received: Vec<(String, Value)> = (0..2).map(|_| client.notification()).collect();
    received.sort_by_key(|(method, _)| method.clone());
    assert_eq!(received[0], ("resources/list_changed".to_owned(), json!({"_meta": { ID: "lists" }})));
    assert_eq!(received[1], ("resources/updated".to_owned(), json!({"uri": "prompt://a", "_meta": { ID: "updates" }})));
    client.save("later.md", "L");
    assert_eq!(client.notifications(2), ["resources/list_changed", "resources/updated prompt://later"]);
}

#[test]
fn a_malformed_listen_is_invalid_params_and_a_second_with_the_same_id_an_invalid_request() {
    let mut client = Client::new();
    for notifications in [
        json!(null),
        json!([]),
        json!("x"),
        json!({"promptsListChanged": "yes"}),
        json!({"toolsListChanged": 1}),
        json!({"resourcesListChanged": null}),
        json!({"resourceSubscriptions": "prompt://a"}),
        json!({"resourceSubscriptions": [5]}),
    ] {
        let answer = client.request("subscriptions/listen", modern(json!({"notifications": notifications})));
        assert_eq!(answer["error"]["code"], -32602, "{notifications}");
    }
    assert_eq!(client.request("subscriptions/listen", modern(json!({})))["error"]["code"], -32602);
    listen(&mut client, &json!(7), json!({}));
    let params = modern(json!({"notifications": {}}));
    let again = json!({"jsonrpc": "2.0", "id": 7, "method": "subscriptions/listen", "params": params}).to_string();
    let answer = client.line(&again);
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(7), &json!(-32600)));
    cancel(&mut client, &json!(7));
    listen(&mut client, &json!(7), json!({}));
}

#[test]
fn a_hundred_listens_and_a_legacy_client_on_one_pipe_are_each_notified_once() {
    let mut client = listening(Client::new().prompt("a.md", "A"));
    for id in 0..100 {
        listen(&mut client, &json!(id), json!({"promptsListChanged": true, "resourceSubscriptions": ["prompt://a"]}));
    }
    client.save("a.md", "Other.");
    let mut tagged = vec![0; 100];
    let mut untagged = Vec::new();
    for _ in 0..202 {
        let (method, params) = client.notification();
        match params["_meta"][ID].as_u64() {
            Some(id) => tagged[id as usize] += if method == "prompts/list_changed" { 1 } else { 10 },
            None => untagged.push(method),
        }
    }
    assert_eq!(tagged, [11; 100]);
    untagged.sort();
    assert_eq!(untagged, LISTS[..2]);
    nothing_tagged_is_left(&mut client);
}

#[track_caller]
fn nothing_tagged_is_left(client: &mut Client) {
    for id in 0..100 {
        cancel(client, &json!(id));
    }
    only_the_next_file_is_announced(client);
}

#[test]
fn listens_and_subscriptions_have_limits_that_say_so() {
    use prompt_expander::server::{MAX_LISTENS, MAX_SUBSCRIBED};
    let mut client = Client::new();
    for id in 0..MAX_LISTENS {
        listen(&mut client, &json!(id), json!({}));
    }
    let error = client.request("subscriptions/listen", modern(json!({"notifications": {}})))["error"].clone();
    assert_eq!(
        error,
        json!({"code": -32600, "message": "invalid request: a subscriptions/listen with this id is open; cancel it, or use \
               another id"})
    );
    let params = modern(json!({"notifications": {}}));
    let one_more =
        json!({"jsonrpc": "2.0", "id": "more", "method": "subscriptions/listen", "params": params}).to_string();
    let error = client.line(&one_more)["error"].clone();
    assert!(error["message"].as_str().unwrap().contains("more than 1000 subscriptions/listen; cancel some"), "{error}");

    let mut client = Client::new();
    let uris: Vec<String> = (0..=MAX_SUBSCRIBED).map(|number| format!("prompt://p{number}")).collect();
    let params = modern(json!({"notifications": {"resourceSubscriptions": uris}}));
    let error = client.request("subscriptions/listen", params)["error"].clone();
    assert!(error["message"].as_str().unwrap().contains("more than 10000 subscriptions to resources"), "{error}");
}

#[test]
fn ten_thousand_file_events_lose_nothing_and_tell_the_end() {
    let mut client = listening(Client::new().prompt("a.md", "A"));
    listen(&mut client, &json!(1), json!({"resourceSubscriptions": ["prompt://last"]}));
    for round in 0..20 {
        for number in 0..500 {
            client.write(&format!("p{number}.md"), format!("Round {round}."));
        }
    }
    for number in 0..500 {
        fs::remove_file(client.prompts().join(format!("p{number}.md"))).unwrap();
    }
    let last = client.root().join("last.md");
    fs::write(&last, "L").unwrap();
    fs::rename(last, client.prompts().join("last.md")).unwrap();
    let mut received = Vec::new();
    while received.last().is_none_or(|method| method != "resources/updated") {
        received.push(client.notification().0);
    }
    assert!(received.len() < 50, "one notification for a burst, not one for each file: {received:?}");
    assert_eq!(client.names(), "a last");
    only_the_next_file_is_announced(&mut client);
}

#[test]
fn the_end_of_input_is_the_end_whatever_is_open() {
    let mut client = listening(Client::new().prompt("a.md", "A"));
    listen(&mut client, &json!(1), json!({"promptsListChanged": true}));
    client.request("resources/subscribe", json!({"uri": "prompt://a"}));
    let (rest, status, stderr) = client.finish();
    assert_eq!((rest.as_str(), status.code(), stderr.as_str()), ("", Some(0), ""));
}

#[test]
fn what_is_on_disk_is_served_before_the_watch_has_seen_it() {
    let mut client = listening_from_the_start(Client::new().prompt("p.md", "000"));
    for round in 0..200 {
        client.save("p.md", format!("{round:03}"));
        client.expand("p", "").text(&format!("{round:03}"));
        let got = client.request("prompts/get", json!({"name": "p"}))["result"].clone();
        assert_eq!(got["messages"][0]["content"]["text"], format!("{round:03}"));
        let listed = client.request("prompts/list", json!({}))["result"]["prompts"][0]["description"].clone();
        assert_eq!(listed, format!("{round:03}"));
    }
}

#[test]
fn a_file_that_hides_a_builtin_prompt_changes_the_order_of_the_commands() {
    let mut client = Client::new().arguments(["--prompts", "prompts"]);
    listen(&mut client, &json!(1), json!({"toolsListChanged": true}));
    client.request("tools/list", json!({}));
    client.save("test.md", "Mine.");
    assert_eq!(client.notification().0, "tools/list_changed");
    fs::remove_file(client.prompts().join("test.md")).unwrap();
    assert_eq!(client.notification().0, "tools/list_changed");
}

#[test]
fn a_subscription_is_only_about_the_file_that_its_uri_identifies() {
    let mut client = Client::new().prompt("a b.md", "A").prompt("a%20b.md", "B");
    settle(&mut client);
    listen(&mut client, &json!("one"), json!({"resourceSubscriptions": ["prompt://a%20b"]}));
    add_marker(&mut client);
    client.save("a%20b.md", "Another file.");
    expect_only_marker(&mut client, 1);
    client.save("a b.md", "The file.");
    assert_eq!(client.notifications(1), ["resources/updated prompt://a%20b"]);
    fs::remove_file(client.prompts().join("a b.md")).unwrap();
    assert_eq!(client.notifications(1), ["resources/updated prompt://a%20b"]);
    client.save("a%20b.md", "It means this one now.");
    assert_eq!(client.notifications(1), ["resources/updated prompt://a%20b"]);
}

#[cfg(unix)]
#[test]
fn a_folder_that_can_be_read_again_is_watched_again() {
    use std::os::unix::fs::PermissionsExt;
    let mut client = Client::new().unprivileged().prompt("a.md", "A").prompt("locked/x.md", "X");
    let locked = client.prompts().join("locked");
    let set = |mode: u32| fs::set_permissions(&locked, fs::Permissions::from_mode(mode)).unwrap();
    set(0o000);
    client = listening(client);
    set(0o755);
    assert_eq!(client.notifications(3), LISTS);
    client.save("locked/x.md", "Edited.");
    assert_eq!(client.notifications(2), LISTS[..2]);
    client.save("locked/y.md", "Y");
    assert_eq!(client.notifications(3), LISTS);
}

#[test]
fn a_folder_that_comes_during_the_first_look_is_watched() {
    let mut client = Client::new();
    for number in 0..2000 {
        client.write(&format!("p{number}.md"), "P"); // the first look takes a while
    }
    client.initialize(LEGACY);
    client.request("tools/list", json!({}));
    fs::create_dir(client.prompts().join("new")).unwrap();
    client.request("prompts/list", json!({}));
    client.save("new/x.md", "X");
    while client.notification().0 != "tools/list_changed" {}
    client.request("resources/subscribe", json!({"uri": "prompt://new/x"}));
    client.save("new/x.md", "Edited.");
    while client.notification().0 != "resources/updated" {}
    client.ignore_notifications();
}

#[cfg(unix)]
#[test]
fn a_file_that_is_changed_under_another_name_is_announced() {
    let mut client = Client::new().prompt("a.md", "A");
    let other = client.root().join("other.md");
    fs::hard_link(client.prompts().join("a.md"), &other).unwrap();
    client = listening(client);
    fs::write(&other, "Edited.").unwrap();
    while client.notification().0 != "prompts/list_changed" {}
    client.ignore_notifications(); // it is written in two steps
}

#[test]
fn a_change_between_a_list_and_a_late_end_of_the_handshake_is_announced() {
    let mut client = Client::new().prompt("a.md", "A");
    client.shake_hands(LEGACY);
    client.request("prompts/list", json!({}));
    client.request("tools/list", json!({}));
    client.save("b.md", "B");
    client.send("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
    assert_eq!(client.notifications(3), LISTS);
}

#[test]
fn files_that_are_not_prompts_are_never_announced() {
    let mut client = Client::new();
    for number in 0..1000 {
        client.write(&format!("p{number}.md"), "P");
    }
    client.write("marker.md", "---\ndescription: Marker\n---\n");
    settle(&mut client);
    let lists = json!({"promptsListChanged": true, "resourceSubscriptions": ["prompt://marker"]});
    listen(&mut client, &json!("marker"), lists);
    for round in 0..20 {
        client.write("log.txt", format!("{round}"));
    }
    expect_only_marker(&mut client, 1);
}

/// If the system has no watch left, the files are polled, and a warning says so once.
#[cfg(target_os = "linux")]
#[test]
fn without_a_watch_changes_are_announced_all_the_same() {
    // Three standard streams, the output once more, two ends of the pipe that wakes the loop, and two to read a folder and a file:
    // nothing is left for the three that a watch needs.
    let mut client = Client::new().prompt("a.md", "A").after("ulimit -n 8").stderr(Some(
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
