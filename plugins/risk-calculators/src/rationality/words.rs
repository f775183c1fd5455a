//! Words and their stems: enough to see that `src/loginForm.ts` has to do with "the login forms".

/// The maximum number of words that are looked at in one set; the rest does not count.
const MOST: usize = 2000;

/// Words that reveal nothing about the subject of a text.
const EMPTY: &[&str] = &[
    "a", "about", "after", "again", "all", "also", "an", "and", "any", "are", "as", "at", "be",
    "before", "but", "by", "can", "could", "do", "does", "for", "from", "get", "go", "has", "have",
    "how", "i", "if", "in", "into", "is", "it", "its", "just", "let", "like", "make", "me", "my",
    "need", "no", "not", "now", "of", "on", "one", "or", "our", "out", "please", "should", "so",
    "some", "sure", "that", "the", "their", "them", "then", "there", "these", "they", "this", "to",
    "up", "us", "use", "using", "want", "was", "we", "what", "when", "where", "which", "with",
    "would", "you", "your",
];

/// Parts of paths that reveal nothing about the subject of a file.
const EVERYWHERE: &[&str] = &[
    "home",
    "index",
    "lib",
    "main",
    "mod",
    "src",
    "tmp",
    "users",
    "usr",
    "var",
    "w",
    "work",
    "workspace",
];

/// Stems, sorted, each once.
#[derive(Clone, Debug, Default)]
pub(super) struct Stems(Vec<String>);

impl Stems {
    /// Returns the stems of the meaningful words in these texts.
    pub(super) fn of<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let all = texts
            .into_iter()
            .flat_map(split)
            .filter(|word| !EMPTY.contains(&word.as_str()) && !EVERYWHERE.contains(&word.as_str()));
        let mut stems: Vec<String> = all
            .map(|word| stem(&word))
            .filter(|stem| stem.chars().count() > 1)
            .take(MOST)
            .collect();
        stems.sort_unstable();
        stems.dedup();
        Self(stems)
    }

    /// Returns true if there is nothing in it.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns true if the two have a word in common, or one has a word that begins like one of the
    /// other's.
    pub(super) fn meet(&self, other: &Self) -> bool {
        self.0.iter().any(|word| other.begins_like(word))
            || other.0.iter().any(|word| self.begins_like(word))
    }

    /// Returns true if it has this stem itself.
    pub(super) fn has(&self, word: &str) -> bool {
        self.0.binary_search_by(|known| known.as_str().cmp(word)).is_ok()
    }

    /// Returns true if it has `word`, or a longer one that begins with it if it is long enough to
    /// be distinctive.
    fn begins_like(&self, word: &str) -> bool {
        // In their order the stems that begin with a word come right behind it.
        let at = self.0.partition_point(|known| known.as_str() < word);
        self.0.get(at).is_some_and(|known| {
            known == word || (word.chars().count() >= 4 && known.starts_with(word))
        })
    }
}

/// Returns the words of a text in lower case; `camelCase` is two, a contraction is one.
pub(super) fn split(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut lower_before = false;
    for c in text.chars() {
        let inner = c.is_alphanumeric() || (matches!(c, '\'' | '\u{2019}') && !word.is_empty());
        if (!inner || (c.is_uppercase() && lower_before)) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if inner {
            word.extend(c.to_lowercase().map(|c| if c == '\u{2019}' { '\'' } else { c }));
        }
        lower_before = c.is_lowercase();
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

/// Returns the word without English endings.
pub(super) fn stem(word: &str) -> String {
    let word = word.strip_suffix("'s").unwrap_or(word);
    const ENDINGS: &[&str] = &[
        "ations", "ation", "ying", "ings", "ing", "ers", "ied", "ies", "ed", "es", "er", "s", "e",
        "y",
    ];
    let bends = |ending: &str, rest: &str| {
        rest.chars().count() >= 3
            && !(ending.starts_with('y') && rest.ends_with(['a', 'e', 'i', 'o', 'u']))
    };
    let cut = ENDINGS
        .iter()
        .find_map(|ending| word.strip_suffix(ending).filter(|rest| bends(ending, rest)));
    let cut = cut.unwrap_or(word);
    let mut end = cut.chars();
    // `running` leaves `runn`; the letters of `fall` and `pass` belong to the word.
    let doubled = matches!((end.next_back(), end.next_back()), (Some(a), Some(b)) if a == b && !"aeiouls".contains(a));
    let shorter = if doubled {
        cut.char_indices().next_back().and_then(|(at, _)| cut.get(..at))
    } else {
        None
    };
    shorter.unwrap_or(cut).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits() {
        for (text, expected) in [
            ("src/loginForm.test.ts", &["src", "login", "form", "test", "ts"][..]),
            ("Don't touch HTTPServer_v2", &["don't", "touch", "httpserver", "v2"]),
            ("l\u{2019}été: 更新", &["l'été", "更新"]),
            ("''", &[]),
        ] {
            assert_eq!(split(text), expected, "{text}");
        }
    }

    #[test]
    fn stems() {
        for forms in [
            &["delete", "deleting", "deleted", "deletes"][..],
            &["modify", "modifying", "modified", "modifies"],
            &["deploy", "deploying", "deployed", "deploys"],
            &["commit", "committing", "committed"],
            &["run", "running", "runs"],
            &["install", "installing", "installation"],
            &["credential", "credentials"],
        ] {
            let stems: Vec<String> = forms.iter().map(|form| stem(form)).collect();
            assert!(stems.iter().all(|one| *one == stems[0]), "{stems:?}");
        }
    }

    #[test]
    fn meets() {
        for (goal, action, meet) in [
            ("fix the login forms", "src/loginForm.ts", true),
            ("Authenticate users", "lib/auth/session.rs", true),
            ("add caching", "src/cache.py", true),
            ("stop running twice", "runner.rs", true),
            ("parse dates", "src/parser.rs", true),
            ("fix the login", "src/billing.ts", false),
            ("do it in the src", "src/main.rs", false),
            ("更新 README", "README.md", true),
            ("", "src/a.rs", false),
        ] {
            assert_eq!(Stems::of([goal]).meet(&Stems::of([action])), meet, "{goal} / {action}");
        }
    }
}
