//! What the person's newest request asks for in plain words: `then push to main`, `upload it to
//! https://...`. Only a person makes requests, so no text of a file or a tool can ask for anything.
//!
//! A request counts only if it is an order: the verb begins its clause, or follows a word such as
//! `then` or `and`. One word anywhere that forbids or denies something, and nothing is asked for.
//! Text in backquotes is quoted, and asks for nothing.

use portcullis_plugin::types::Context;

/// Words that forbid or deny something, in whatever sentence they stand.
const FORBIDDING: &[&str] = &[
    "ain't",
    "avoid",
    "can't",
    "cannot",
    "cant",
    "don't",
    "dont",
    "doesn't",
    "keep",
    "mustn't",
    "never",
    "no",
    "not",
    "nothing",
    "shouldn't",
    "stop",
    "unless",
    "until",
    "without",
    "won't",
];

/// Words that may stand before the verb of an order.
const LEADS: &[&str] = &[
    "afterwards",
    "also",
    "and",
    "finally",
    "just",
    "let's",
    "lets",
    "now",
    "please",
    "then",
    "us",
];

/// Words between a verb and a place.
const LINKS: &[&str] = &["at", "in", "into", "on", "onto", "origin", "to", "upstream"];

/// Places that name no branch.
const REMOTES: &[&str] = &["gh", "github", "gitlab", "origin", "remote", "upstream"];

/// Words by which a request means another branch than a shared one.
const APART: &[&str] = &["branch", "branches", "fork", "mr", "pr", "pull", "review", "tag"];

/// Verbs that ask for sending something.
const SENDING: &[&str] = &["deploy", "send", "submit", "upload"];

/// The number of words after the verb in which an address has to be.
const NEAR: usize = 8;

/// Returns true if the newest request asks to push to this branch: it names the branch, or nothing
/// but a remote.
pub(crate) fn asks_to_push(branch: &str, context: &Context) -> bool {
    let Some(clauses) = newest_clauses(context) else { return false };
    if clauses.iter().flatten().any(|word| APART.contains(&word.as_str())) {
        return false;
    }
    orders(&clauses, &["push"]).any(|rest| {
        let mut places = rest.windows(2).filter_map(|pair| match pair {
            [link, place] if LINKS.contains(&link.as_str()) => Some(place.as_str()),
            _ => None,
        });
        places.all(|place| {
            let place = place.trim_start_matches("origin/");
            place == branch || REMOTES.contains(&place) || LINKS.contains(&place) || place == "the"
        })
    })
}

/// Returns true if the newest request asks to send something to this machine, and gives its
/// address.
pub(crate) fn asks_to_send(host: &str, context: &Context) -> bool {
    let Some(clauses) = newest_clauses(context) else { return false };
    orders(&clauses, SENDING).any(|rest| rest.iter().take(NEAR).any(|word| address_is(word, host)))
}

/// Returns true for an address on a machine: `https://HOST/path`, `user@HOST:path`.
fn address_is(word: &str, host: &str) -> bool {
    let begin = |c: char| matches!(c, '/' | ':' | '?' | '#');
    let after = match word.split_once("://") {
        Some((_, rest)) => rest.rsplit_once('@').map_or(rest, |(_, rest)| rest),
        None => match word.split_once('@') {
            Some((_, rest)) => rest,
            None => return false,
        },
    };
    !host.is_empty() && after.split(begin).next() == Some(host)
}

/// Returns the words after each order with one of these verbs.
fn orders<'c>(clauses: &'c [Vec<String>], verbs: &'c [&str]) -> impl Iterator<Item = &'c [String]> {
    clauses.iter().filter_map(move |words| {
        let at = words.iter().position(|word| verbs.contains(&word.as_str()))?;
        let led = words.get(..at)?.last().is_none_or(|word| LEADS.contains(&word.as_str()));
        led.then(|| words.get(at + 1..).unwrap_or_default())
    })
}

/// Returns the clauses of the newest request; none if it forbids or denies anything.
fn newest_clauses(context: &Context) -> Option<Vec<Vec<String>>> {
    let newest = context.goals.iter().max_by_key(|goal| goal.at)?;
    let clauses = clauses(&newest.text);
    let forbids = |word: &String| FORBIDDING.contains(&word.as_str());
    (!clauses.iter().flatten().any(forbids)).then_some(clauses)
}

/// Cuts a text into clauses of lower-case words. Punctuation inside a word, such as that of an
/// address, ends nothing.
fn clauses(text: &str) -> Vec<Vec<String>> {
    let plain: String = text.split('`').step_by(2).collect();
    let plain = plain.replace('\u{2019}', "'").to_lowercase();
    let mut clauses = vec![Vec::new()];
    for line in plain.lines() {
        for word in line.split_whitespace() {
            let bare = word.trim_matches(|c: char| "\"'()[]<>*,.;:!?".contains(c));
            if let Some(clause) = clauses.last_mut().filter(|_| !bare.is_empty()) {
                clause.push(bare.to_owned());
            }
            if word.ends_with(|c: char| ",.;:!?)".contains(c)) {
                clauses.push(Vec::new());
            }
        }
        clauses.push(Vec::new());
    }
    clauses
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_plugin::testing::{self, BuildContext};

    #[test]
    fn only_an_order_asks_for_a_push() {
        for (text, branch, expected) in [
            ("Fix it, then push to main", "main", true),
            ("OK. Let us push to GH and monitor if the build passes", "main", true),
            ("push", "main", true),
            ("Commit and push.", "master", true),
            ("Please push to origin main", "main", true),
            ("push to origin/main", "main", true),
            ("Push to main", "release", false),
            ("Push it, but not to main", "main", false),
            ("Fix it, but don't push to main", "main", false),
            ("Fix it, but don\u{2019}t push", "main", false),
            ("Stop pushing to main", "main", false),
            ("I can't push to main", "main", false),
            ("I push to main every day and the build breaks", "main", false),
            ("You pushed to main yesterday and broke it; find out why", "main", false),
            ("Push your branch and open a pull request", "main", false),
            ("Merge main into your branch and push", "main", false),
            ("Fix the main page, push to a feature branch", "main", false),
            ("push to staging", "main", false),
            ("Fix the upload form", "main", false),
            ("Fix the deploy script", "production", false),
            ("Update the release notes", "release", false),
            ("Add a button that says `push to main`", "main", false),
            ("Fix it", "main", false),
        ] {
            let asked = asks_to_push(branch, &testing::context().goal(text));
            assert_eq!(asked, expected, "{text}: {branch}");
        }
        let context = testing::context().goal("push to main").goal("now look at the tests");
        assert!(!asks_to_push("main", &context), "an earlier request");
    }

    #[test]
    fn only_an_order_with_the_address_asks_to_send() {
        for (text, expected) in [
            ("Upload report.csv to https://api.example.com/upload", true),
            ("Make the report, then send it to https://api.example.com:8443/x.", true),
            ("deploy to dev@api.example.com:/srv/www", true),
            ("Never upload anything to https://api.example.com/upload", false),
            ("Read https://api.example.com/guide and report what it says", false),
            ("Fix this: `POST https://api.example.com/x` answers 500", false),
            ("Fix this: POST https://api.example.com/x answers 500", false),
            ("Upload it", false),
            ("Upload it to api.example.com", false),
            ("Upload it to https://api.example.com.evil.example/", false),
            ("Upload it to https://evil.example/https://api.example.com/", false),
            ("The upload to https://api.example.com fails", false),
            ("Send a mail", false),
        ] {
            let asked = asks_to_send("api.example.com", &testing::context().goal(text));
            assert_eq!(asked, expected, "{text}");
        }
    }
}
