//! Any bytes are an OpenAPI document or a diagnostic, and no value of a call changes more of a
//! request than its own place.

use prompt_expander::library::{BoundCall, Found, Library, Listing, ServiceRequest};
use prompt_expander::prompt::{Call, MAX_ARGUMENTS};
use prompt_expander::sources::OpenApiOptions;
use std::fs;

/// The document and the value, separated by this.
const SEPARATOR: &[u8] = b"\n====\n";

const BASE: &str = "https://prompts.example.com/v1";

/// The same for a document and a value in one.
pub(super) fn check_bytes(bytes: &[u8]) {
    let at = bytes
        .windows(SEPARATOR.len())
        .position(|window| window == SEPARATOR);
    let (document, value) = at.map_or((bytes, &b"1"[..]), |at| {
        (&bytes[..at], &bytes[at + SEPARATOR.len()..])
    });
    check(document, &String::from_utf8_lossy(value));
}

pub(super) fn check(document: &[u8], value: &str) {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(&file, document).unwrap();
    let mut options = OpenApiOptions::default();
    options.operations = vec!["a".to_owned()];
    options.base = Some(BASE.to_owned());
    let read = |value: &str| {
        let library =
            Library::default().with_openapi(vec![file.path().to_owned()], options.clone());
        let Listing {
            found, problems, ..
        } = library.view().list();
        let request_of = |found: &Found| {
            let prompt = found.prompt().unwrap();
            let values = prompt
                .arguments
                .iter()
                .map(|argument| (argument.name.clone(), value.to_owned()))
                .collect();
            let request = found.request(&BoundCall::new(
                &prompt,
                Call::Named {
                    values: &values,
                    input: "",
                    is_strict: true,
                },
            ));
            (prompt, request.unwrap())
        };
        (found.iter().map(request_of).collect::<Vec<_>>(), problems)
    };
    let found = read(value);
    assert_eq!(found, read(value), "read twice");
    let (requests, problems) = found;
    // To YAML, a carriage return ends a line, too. Its parser may find the end in a line after the
    // last.
    let lines = document.split(|byte| matches!(byte, b'\n' | b'\r')).count();
    for diagnostic in problems {
        assert!(
            diagnostic
                .position
                .is_none_or(|position| (1..=lines + 1).contains(&position.line)),
            "{diagnostic:?}"
        );
        assert!(
            !format!("{diagnostic}").contains(char::is_control),
            "{diagnostic:?}"
        );
    }
    let (plain, _) = read("1");
    for ((prompt, request), (_, plain)) in requests.iter().zip(&plain) {
        assert!(prompt.is_rendered_by_service() && prompt.arguments.len() <= MAX_ARGUMENTS);
        assert!(
            prompt.expand(Call::Text("x")).is_err(),
            "only a service renders it"
        );
        assert_eq!(
            prompt
                .warnings()
                .iter()
                .filter(|warning| warning.position.is_some())
                .count(),
            0
        );
        let Ok(ServiceRequest {
            url, headers, body, ..
        }) = request
        else {
            continue;
        };
        let path = url.strip_prefix(BASE).unwrap();
        assert!(
            path.starts_with('/')
                && path.bytes().all(|byte| byte.is_ascii_graphic())
                && !path.contains('#'),
            "{url}"
        );
        let path = path.split('?').next().unwrap();
        assert!(
            path.split('/')
                .all(|segment| segment != "." && segment != ".."),
            "{url}"
        );
        if let Ok(plain) = plain {
            let segments = |url: &str| url.split('?').next().unwrap().split('/').count();
            assert_eq!(segments(url), segments(&plain.url), "{url}");
        }
        assert!(
            headers
                .iter()
                .all(|(name, value)| !format!("{name}{value}").contains(char::is_control))
        );
        if let Some(body) = body {
            let valid: Result<&serde_json::value::RawValue, _> = serde_json::from_str(body);
            assert!(
                valid.is_ok() && (!body.contains('\n') || value.contains('\n')),
                "{body}"
            );
        }
    }
}
