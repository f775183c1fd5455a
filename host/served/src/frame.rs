//! A whole page: its head, the navigation, and the way out.

use crate::role::Role;
use portcullis_page::Html;
use std::fmt::Display;

/// An entry of the navigation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NavigationEntry {
    /// The page's path.
    pub path: &'static str,
    /// Its name.
    pub name: &'static str,
    /// The number of things that wait there; 0 shows none.
    pub waiting: usize,
    /// True for the page that is shown, or the one that it belongs to.
    pub is_current: bool,
}

/// The visitor as a page names them.
#[derive(Clone, Copy, Debug)]
pub struct VisitorMark<'a> {
    /// The token of the form that signs out.
    pub form_token: &'a str,
    /// The person, where the page knows one.
    pub name: Option<&'a str>,
    /// The role.
    pub role: Role,
}

/// Everything of a page but its beginning.
#[derive(Clone, Copy, Debug)]
pub struct PageParts<'a> {
    /// The title, which is the heading too.
    pub title: &'a str,
    /// A word behind the program's name, such as for whom the page is.
    pub brand: &'a str,
    /// The navigation.
    pub navigation: &'a [NavigationEntry],
    /// The visitor.
    pub visitor: VisitorMark<'a>,
    /// The address of the events of what it shows, if it follows them while it is open.
    pub live: Option<&'a str>,
    /// The contents.
    pub main: &'a Html,
}

/// Begins a page: everything before its body.
#[must_use]
pub fn begin_page(title: &str, is_live: bool) -> Html {
    let mut page = Html::from_template(
        "<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width, initial-scale=1\"><meta name=\"color-scheme\" \
         content=\"light dark\"><title>{} - Portcullis</title><link rel=\"stylesheet\" \
         href=\"/style.css\"><script src=\"/page.js\" type=\"module\"></script>",
        &[&title],
    );
    if is_live {
        page.put_template("<noscript><meta http-equiv=\"refresh\" content=\"10\"></noscript>", &[]);
    }
    page.put_template("</head>", &[]);
    page
}

/// Returns the whole page.
#[must_use]
pub fn compose_page(parts: &PageParts<'_>) -> Html {
    // A page that loads again takes away what somebody types. No text can look like a form: it is
    // escaped.
    let has_form = parts.main.as_str().contains("<form");
    let is_live = parts.live.is_some();
    let mut page = begin_page(parts.title, is_live && !has_form);
    page.put_template(
        "<body class=\"site\"><a class=\"skip\" href=\"#main\">Skip to the contents</a><header>\
         <p class=\"brand\">Portcullis{}</p><nav aria-label=\"pages\"><ul>",
        &[&parts.brand],
    );
    parts.navigation.iter().for_each(|entry| add_entry(&mut page, entry));
    let VisitorMark { form_token, name, role } = parts.visitor;
    let who: &dyn Display = match name {
        Some(name) => &format!("{name}, {}", role.as_str()),
        None => &role.as_str(),
    };
    page.put_template(
        "</ul></nav><form class=\"sign-out\" method=\"post\" action=\"/sign-out\">\
         <input type=\"hidden\" name=\"token\" value=\"{}\"><button>Sign out ({})</button></form>\
         </header><p class=\"notice\" id=\"stale\" hidden>Something new has happened: leave what you \
         type, or load the page again.</p>",
        &[&form_token, who],
    );
    if is_live && has_form {
        page.put_template(
            "<noscript><p class=\"notice\">Load the page again to see what is new.</p></noscript>",
            &[],
        );
    }
    match parts.live {
        Some(address) => page.put_template("<main id=\"main\" data-live=\"{}\">", &[&address]),
        None => page.put_template("<main id=\"main\">", &[]),
    }
    page.put_template("<h1>{}</h1>", &[&parts.title]);
    page.add_piece(parts.main);
    page.put_template("</main></body></html>\n", &[]);
    page
}

fn add_entry(page: &mut Html, entry: &NavigationEntry) {
    let template = match entry.is_current {
        true => "<li><a href=\"{}\" aria-current=\"page\">{}</a>",
        false => "<li><a href=\"{}\">{}</a>",
    };
    page.put_template(template, &[&entry.path, &entry.name]);
    if entry.waiting > 0 {
        page.put_template(
            " <span class=\"count\" aria-label=\"{} waiting\">{}</span>",
            &[&entry.waiting, &entry.waiting],
        );
    }
    page.put_template("</li>", &[]);
}

/// Encodes a text as a value in the query of an address.
#[must_use]
pub fn encode_value(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.') {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without scripts, a page that follows something loads again by itself, unless somebody may be
    /// typing there.
    #[test]
    fn a_page_with_a_form_does_not_load_again() {
        let form = Html::from_template("<form><input></form>", &[]);
        let text = Html::from_template("<p>{}</p>", &[&"<form>"]);
        for (main, live, loads, says) in [
            (&text, Some("/live"), true, false),
            (&form, Some("/live"), false, true),
            (&text, None, false, false),
            (&form, None, false, false),
        ] {
            let visitor = VisitorMark { form_token: "t", name: None, role: Role::Viewer };
            let page = compose_page(&PageParts {
                title: "A page",
                brand: "",
                navigation: &[],
                visitor,
                live,
                main,
            });
            let page = page.as_str();
            assert_eq!(page.contains("http-equiv=\"refresh\""), loads, "{page}");
            assert_eq!(page.contains("Load the page again"), says, "{page}");
        }
    }
}
