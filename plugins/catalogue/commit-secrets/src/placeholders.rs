//! The placeholders that stand for masked secrets: `<secret:KIND:8 hex digits>`.
//!
//! A plugin never sees a secret. The host has recognised it by its form or by its place, and the
//! kind tells which: that is the evidence.

/// A placeholder in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placeholder<'a> {
    /// The whole placeholder.
    pub text: &'a str,
    /// What the host took the value for.
    pub kind: &'a str,
    /// What follows it in its text.
    pub after: &'a str,
}

/// How much a placeholder tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// A value in the place of a password, recognised by the name beside it.
    Weak,
    /// A token, key or credential, recognised by its own form.
    Strong,
}

const START: &str = "<secret:";

/// Returns the placeholders of a text, in order.
pub fn list(text: &str) -> impl Iterator<Item = Placeholder<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            let found = rest.get(rest.find(START)?..)?;
            let Some(end) = found.find('>').filter(|end| *end < 64) else {
                rest = found.get(START.len()..)?;
                continue;
            };
            let text = found.get(..=end)?;
            let kind =
                text.get(START.len()..).and_then(|text| text.split(':').next()).unwrap_or_default();
            let after = found.get(end + 1..)?;
            rest = after;
            return Some(Placeholder { text, kind, after });
        }
    })
}

/// Returns the heaviest placeholder of a secret that a new text has and an old one has not.
pub fn find_added<'a>(new: &'a str, old: &str) -> Option<(Placeholder<'a>, Weight)> {
    let mut known: Vec<&str> = list(old).map(|placeholder| placeholder.text).collect();
    known.sort_unstable();
    let mut weak = None;
    for placeholder in list(new) {
        let Some(weight) = weigh(&placeholder) else { continue };
        if known.binary_search(&placeholder.text).is_ok() {
            continue;
        }
        if weight == Weight::Strong {
            return Some((placeholder, weight));
        }
        weak = weak.or(Some((placeholder, weight)));
    }
    weak
}

/// Returns how much a placeholder tells, none for personal data and for what is no secret.
pub fn weigh(placeholder: &Placeholder<'_>) -> Option<Weight> {
    match placeholder.kind {
        "token" | "private-key" | "jwt" => Some(Weight::Strong),
        "credential" if is_for_this_machine(placeholder.after) => None,
        "credential" => Some(Weight::Strong),
        "password" | "custom" => Some(Weight::Weak),
        _ => None,
    }
}

/// Returns true if a password belongs to an address of this machine or of a container beside it:
/// `postgres://app:...@localhost/app`, `@db:5432`.
fn is_for_this_machine(after: &str) -> bool {
    let Some(rest) = after.strip_prefix('@') else { return false };
    let length = rest
        .find(|letter: char| !(letter.is_ascii_alphanumeric() || "-_.".contains(letter)))
        .unwrap_or(rest.len());
    let host = rest.get(..length).unwrap_or_default();
    !host.is_empty() && (!host.contains('.') || host.starts_with("127.") || host == "0.0.0.0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_found_and_weighed() {
        let text =
            "a=<secret:token:0011aabb> b=<secret:email:0011aabb> c=<secret:password:1> <secret:";
        let kinds: Vec<&str> = list(text).map(|found| found.kind).collect();
        assert_eq!(kinds, ["token", "email", "password"]);
        let added = |old| find_added(text, old).map(|(found, _)| found.kind);
        assert_eq!(added("<secret:password:1>"), Some("token"));
        assert_eq!(added("<secret:token:0011aabb>"), Some("password"));
        assert_eq!(added(text), None);
        for (text, expected) in [
            ("postgres://a:<secret:credential:1>@localhost/db", None),
            ("postgres://a:<secret:credential:1>@db:5432/db", None),
            ("postgres://a:<secret:credential:1>@db.example.com/db", Some(Weight::Strong)),
            ("Bearer <secret:credential:1>", Some(Weight::Strong)),
        ] {
            assert_eq!(list(text).next().and_then(|found| weigh(&found)), expected, "{text}");
        }
    }
}
