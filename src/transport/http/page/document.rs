//! The whole of each page: what is around its `<main>`, and the page that asks for a token.

use super::text::plain;
use maud::{DOCTYPE, Markup, html};

const ICON: &str = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 24 24'%3E%3Crect width='24' height='24' rx='6' \
                    fill='%2300685a'/%3E%3Ccircle cx='12' cy='8' r='2.4' fill='%23fff'/%3E%3Ccircle cx='12' cy='16' r='2.4' \
                    fill='%23fff'/%3E%3C/svg%3E";

/// A page. `query` is what was searched for.
pub(super) fn document(title: &str, query: &str, main: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (plain(title)) " · prompt-expander" }
                link rel="icon" href=(ICON);
                link rel="stylesheet" href=(super::STYLE);
                script type="module" src=(super::SCRIPT) {}
            }
            body {
                a.skip.visually-hidden href="#main" { "Skip to the content" }
                header.head {
                    div.wide {
                        a.home href="/" {
                            svg viewBox="0 0 24 24" aria-hidden="true" {
                                rect width="24" height="24" rx="6" {}
                                circle cx="12" cy="8" r="2.4" {}
                                circle cx="12" cy="16" r="2.4" {}
                            }
                            span { "prompt-expander" }
                        }
                        form.search #search role="search" action="/" {
                            svg viewBox="0 0 16 16" aria-hidden="true" { circle cx="7" cy="7" r="5" {} path d="M11 11l4 4" {} }
                            input type="search" name="query" value=(plain(query)) placeholder="Search prompts" aria-label="Search prompts"
                                aria-keyshortcuts="/" autocomplete="off" spellcheck="false" maxlength="200" dir="auto";
                            kbd.scripted aria-hidden="true" { "/" }
                        }
                    }
                }
                main.wide #main tabindex="-1" { (main) }
                footer.foot {
                    div.wide {
                        span { "prompt-expander " (env!("CARGO_PKG_VERSION")) }
                        ul.scripted.keys {
                            li { kbd { "/" } " search" }
                            li { kbd { "↓" } " " kbd { "↑" } " move" }
                            li { kbd { "Enter" } " open" }
                            li { kbd { "Ctrl Enter" } " copy" }
                        }
                    }
                }
                p.toast #toast role="status" {}
                p.visually-hidden #announcement role="status" {}
            }
        }
    }
}

/// Asks for a token; `refused` says why the one that was sent is refused.
pub(super) fn ask_for_token(refused: Option<&str>) -> Markup {
    html! {
        div.alone {
            h1 { "This server needs a token" }
            p { "Paste the one that you were given. It stays in this tab until you close or reload it, and is stored nowhere." }
            @if let Some(refused) = refused { p.alert role="alert" { (refused) } }
            p.alert.unscripted { "To send the token, this page needs JavaScript." }
            form.scripted #token method="post" {
                div.field {
                    label for="token-text" { "Token" }
                    input #token-text type="password" autocomplete="off" spellcheck="false" required;
                }
                div { button { "Show the prompts" } }
            }
        }
    }
}

/// Says that something cannot be shown.
pub(super) fn failure(heading: &str, message: &str, then: &Markup) -> Markup {
    html! {
        div.alone {
            h1 { (heading) }
            p.text dir="auto" { (super::text::message(message)) }
            (then)
        }
    }
}
