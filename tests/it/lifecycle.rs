//! Both eras on one pipe: `initialize` and negotiation, `server/discover`, the envelope of
//! 2026-07-28.

use crate::client::{Client, LEGACY, modern};
use serde_json::{Value, json};

#[test]
fn initialize_answers_the_same_legacy_version_and_2025_11_25_to_every_other_string() {
    let mut client = Client::new();
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        assert_eq!(client.initialize(version)["protocolVersion"], version);
    }
    for version in ["2026-07-28", "2099-01-01", "x", ""] {
        assert_eq!(
            client.initialize(version)["protocolVersion"],
            "2025-11-25",
            "{version}"
        );
    }
    for params in [
        json!({}),
        json!({"protocolVersion": null}),
        json!({"protocolVersion": 20241105}),
    ] {
        assert_eq!(
            client.request("initialize", params)["error"]["code"],
            -32602
        );
    }
}

#[test]
fn initialize_without_capabilities_answers_version_capabilities_names_and_echoes_client_info() {
    let mut client = Client::new();
    let info = json!({"name": "example", "version": "dev", "more": [1, {"x": "y"}]});
    let mut answer = client.request(
        "initialize",
        json!({"protocolVersion": "2024-11-05", "clientInfo": info}),
    );
    let instructions = answer["result"]
        .as_object_mut()
        .unwrap()
        .remove("instructions")
        .unwrap();
    assert!(instructions.is_string());
    assert_eq!(
        answer["result"],
        json!({
            "protocolVersion": "2024-11-05",
            "capabilities": {
                "tools": {"listChanged": true},
                "prompts": {"listChanged": true},
                "resources": {"subscribe": true, "listChanged": true},
                "completions": {},
                "logging": {}
            },
            "serverInfo": {"name": "prompt-expander", "version": env!("CARGO_PKG_VERSION")},
            "clientInfo": info
        })
    );
    for params in [
        json!({"protocolVersion": LEGACY}),
        json!({"protocolVersion": LEGACY, "clientInfo": null}),
    ] {
        let answer = client.request("initialize", params);
        assert!(answer["result"].get("clientInfo").is_none(), "{answer}");
    }
}

#[test]
fn the_first_line_of_the_instructions_stands_alone_in_250_characters() {
    let instructions = Client::new().initialize(LEGACY)["instructions"]
        .as_str()
        .unwrap()
        .to_owned();
    let first = instructions.lines().next().unwrap();
    assert!(first.chars().count() <= 250, "{}", first.chars().count());
    for needed in [
        "':research solar cells'",
        "expand_prompt {command: 'research', input: 'solar cells'}",
        "follow the prompt that it returns",
    ] {
        assert!(first.contains(needed), "{needed}: {first}");
    }
}

#[test]
fn a_second_initialize_negotiates_again() {
    let mut client = Client::new();
    client.initialize("2025-03-26");
    assert!(
        client
            .line(r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#)
            .is_array()
    );
    client.initialize("2025-06-18");
    assert_eq!(
        client.line(r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#)["error"]["code"],
        -32600
    );
}

#[test]
fn a_bare_request_before_initialize_is_served_as_legacy() {
    let mut client = Client::new().prompt("p.md", "P {{input}}");
    assert_eq!(client.request("ping", json!({})), json!({"result": {}}));
    assert_eq!(
        client.result("tools/list", json!({}))["tools"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
    client.expand("p", "x").text("P x");
    assert_eq!(client.initialize(LEGACY)["protocolVersion"], LEGACY);
}

#[test]
fn discover_answers_the_modern_version_and_initialize_still_works() {
    let mut client = Client::new();
    let mut answer = client.request("server/discover", modern(json!({})));
    let instructions = answer["result"]
        .as_object_mut()
        .unwrap()
        .remove("instructions")
        .unwrap();
    let server_info = &mut answer["result"]["_meta"]["io.modelcontextprotocol/serverInfo"];
    assert!(
        server_info
            .as_object_mut()
            .unwrap()
            .remove("icons")
            .is_some()
    );
    assert_eq!(
        answer["result"],
        json!({
            "resultType": "complete",
            "supportedVersions": ["2026-07-28"],
            "capabilities": {
                "tools": {"listChanged": true},
                "prompts": {"listChanged": true},
                "resources": {"subscribe": true, "listChanged": true},
                "completions": {}
            },
            "ttlMs": 3_600_000,
            "cacheScope": "public",
            "_meta": {"io.modelcontextprotocol/serverInfo":
                {"name": "prompt-expander", "version": env!("CARGO_PKG_VERSION")}}
        })
    );
    assert_eq!(client.initialize(LEGACY)["instructions"], instructions);
}

#[test]
fn an_envelope_is_complete_has_the_modern_version_and_comes_with_a_modern_method() {
    let version = "io.modelcontextprotocol/protocolVersion";
    let capabilities = "io.modelcontextprotocol/clientCapabilities";
    let level = "io.modelcontextprotocol/logLevel";
    for_fresh_and_initialized(|client| {
        for method in ["server/discover", "subscriptions/listen"] {
            for params in [
                json!({}),
                json!({"_meta": {}}),
                json!({"_meta": {capabilities: {}}}),
                json!({"_meta": 5}),
            ] {
                assert_eq!(
                    client.request(method, params)["error"]["code"],
                    -32602,
                    "{method}"
                );
            }
        }
        for (method, meta, code) in [
            ("tools/list", json!({version: "2026-07-28"}), -32602),
            ("tools/list", json!(["2026-07-28", {}]), -32602),
            ("server/discover", json!(["2026-07-28", {}, null]), -32602),
            ("ping", json!(5), -32602),
            (
                "tools/list",
                json!({version: "2026-07-28", capabilities: 5}),
                -32602,
            ),
            (
                "tools/list",
                json!({version: null, capabilities: {}}),
                -32602,
            ),
            ("tools/list", json!({version: "2031-01-01"}), -32602),
            (
                "tools/list",
                json!({version: "2026-07-28", capabilities: {}, level: "loud"}),
                -32602,
            ),
            (
                "tools/list",
                json!({version: "2031-01-01", capabilities: {}, level: 5}),
                -32022,
            ),
            (
                "initialize",
                json!({version: "2025-11-25", capabilities: {}}),
                -32022,
            ),
            ("nope", json!({version: "", capabilities: {}}), -32022),
            (
                "initialize",
                json!({version: "2026-07-28", capabilities: {}}),
                -32601,
            ),
            (
                "ping",
                json!({version: "2026-07-28", capabilities: {}}),
                -32601,
            ),
            (
                "logging/setLevel",
                json!({version: "2026-07-28", capabilities: {}}),
                -32601,
            ),
            (
                "resources/subscribe",
                json!({version: "2026-07-28", capabilities: {}}),
                -32601,
            ),
            (
                "resources/unsubscribe",
                json!({version: "2026-07-28", capabilities: {}}),
                -32601,
            ),
            (
                "nope",
                json!({version: "2026-07-28", capabilities: {}}),
                -32601,
            ),
        ] {
            let params = json!({"protocolVersion": LEGACY, "_meta": meta});
            let error = client.request(method, params)["error"].clone();
            assert_eq!(error["code"], code, "{method} {meta}");
            if code == -32022 {
                assert_eq!(
                    error["data"],
                    json!({"supported": ["2026-07-28"], "requested": meta[version]})
                );
            }
        }
    });
}

#[test]
fn each_request_alone_decides_its_era() {
    for_fresh_and_initialized(|client| {
        let modern_result = client.result("tools/list", modern(json!({})));
        assert_eq!(
            (
                &modern_result["resultType"],
                &modern_result["ttlMs"],
                &modern_result["cacheScope"]
            ),
            (&json!("complete"), &json!(0), &json!("private"))
        );
        let server_info = &modern_result["_meta"]["io.modelcontextprotocol/serverInfo"];
        assert_eq!(
            server_info,
            &json!({"name": "prompt-expander", "version": env!("CARGO_PKG_VERSION")})
        );
        for params in [
            json!({}),
            json!({"_meta": {"progressToken": 1, "traceparent": "x"}}),
        ] {
            let legacy = client.result("tools/list", params);
            assert_eq!(
                legacy.as_object().unwrap().keys().collect::<Vec<_>>(),
                ["tools"]
            );
            assert_eq!(legacy["tools"], modern_result["tools"]);
        }
    });
}

#[test]
fn the_lists_of_an_empty_library_are_empty_without_errors() {
    for_fresh_and_initialized(|client| {
        for (method, key) in [("prompts/list", "prompts"), ("resources/list", "resources")] {
            assert_eq!(client.result(method, json!({})), json!({key: []}));
            let modern = client.result(method, modern(json!({})));
            assert_eq!(
                (&modern[key], &modern["ttlMs"], &modern["cacheScope"]),
                (&json!([]), &json!(0), &json!("private"))
            );
        }
    });
}

#[test]
fn an_invalid_cursor_is_refused_and_an_empty_or_null_one_is_the_first_page() {
    let mut client = Client::new();
    for method in [
        "tools/list",
        "prompts/list",
        "resources/list",
        "resources/templates/list",
    ] {
        for cursor in [json!("!!"), json!(5), json!("cHJvbXB0")] {
            assert_eq!(
                client.request(method, json!({"cursor": cursor}))["error"]["code"],
                -32602,
                "{method}"
            );
        }
        let first = client.request(method, json!({}));
        assert!(first.get("error").is_none(), "{first}");
        for cursor in [json!(""), Value::Null] {
            assert_eq!(
                client.request(method, json!({"cursor": cursor})),
                first,
                "{method}"
            );
        }
    }
}

#[test]
fn a_log_level_is_accepted_and_an_unknown_one_is_invalid_params() {
    let mut client = Client::new();
    client.initialize(LEGACY);
    assert_eq!(
        client.request("logging/setLevel", json!({"level": "notice"})),
        json!({"result": {}})
    );
    for params in [
        json!({"level": "loud"}),
        json!({"level": 5}),
        json!({}),
        json!({"level": null}),
    ] {
        assert_eq!(
            client.request("logging/setLevel", params)["error"]["code"],
            -32602
        );
    }
}

fn for_fresh_and_initialized(check: impl Fn(&mut Client)) {
    check(&mut Client::new());
    let mut client = Client::new();
    client.initialize(LEGACY);
    check(&mut client);
}

#[test]
fn client_info_is_data_whatever_its_keys() {
    let mut client = Client::new();
    let client_info = json!({"name": "x", "$serde_json::private::RawValue": "[1]", "$serde_json::private::Number": "{]"});
    let params = json!({"protocolVersion": "2025-06-18", "clientInfo": client_info});
    assert_eq!(
        client.result("initialize", params)["clientInfo"],
        client_info
    );
}
