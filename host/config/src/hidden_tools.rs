//! Tools of MCP servers that no agent sees or calls.

mod watched;

pub use watched::WatchedHiddenTools;

/// The letter of a pattern that stands for any letters.
const ANY: char = '*';
/// The most bytes of a pattern.
const MOST_BYTES: usize = 256;

/// Patterns of tools: `SERVER/TOOL`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HiddenTools(Vec<String>);

impl HiddenTools {
    /// Uses patterns of the configuration.
    pub(crate) const fn new(patterns: Vec<String>) -> Self {
        Self(patterns)
    }

    /// Returns true if every pattern of others is one of these.
    #[cfg(test)]
    pub(crate) fn contains(&self, others: &Self) -> bool {
        others.0.iter().all(|pattern| self.0.contains(pattern))
    }

    /// Returns the pattern that hides a tool. Upper and lower case are the same.
    #[must_use]
    pub fn find_pattern(&self, server: &str, tool: &str) -> Option<&str> {
        let (server, tool) = (server.to_lowercase(), tool.to_lowercase());
        let hides = |pattern: &&String| {
            let pattern = pattern.to_lowercase();
            pattern.split_once('/').is_some_and(|(servers, tools)| {
                matches_text(servers, &server) && matches_text(tools, &tool)
            })
        };
        self.0.iter().find(hides).map(String::as_str)
    }
}

/// Returns true for a pattern of tools.
pub(crate) fn is_pattern(text: &str) -> bool {
    let plain = |part: &str| !part.is_empty() && !part.chars().any(char::is_control);
    text.len() <= MOST_BYTES
        && text.split_once('/').is_some_and(|(server, tool)| plain(server) && plain(tool))
}

/// Returns true if a text fits a pattern.
fn matches_text(pattern: &str, text: &str) -> bool {
    let Some((start, rest)) = pattern.split_once(ANY) else { return pattern == text };
    let Some(mut text) = text.strip_prefix(start) else { return false };
    let mut parts: Vec<&str> = rest.split(ANY).collect();
    let end = parts.pop().unwrap_or_default();
    for part in parts {
        // The first place is as good as any later one.
        let Some(at) = text.find(part) else { return false };
        text = text.get(at + part.len()..).unwrap_or_default();
    }
    text.len() >= end.len() && text.ends_with(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fit_whole_names() {
        for (pattern, server, tool, fits) in [
            ("files/delete", "files", "delete", true),
            ("files/delete", "Files", "DELETE", true),
            ("files/delete", "files", "delete_all", false),
            ("files/delete*", "files", "delete_all", true),
            ("*/delete*", "a", "delete", true),
            ("files/*", "files2", "x", false),
            ("a/*_*e", "a", "x_ye", true),
            ("a/*_*e", "a", "xe", false),
            ("a/ab*ba", "a", "aba", false),
            ("a/b/c", "a", "b/c", true),
            ("a/**", "a", "", true),
        ] {
            let hidden = HiddenTools::new(vec![pattern.into()]);
            assert_eq!(
                hidden.find_pattern(server, tool).is_some(),
                fits,
                "{pattern} {server} {tool}"
            );
        }
        for (text, is) in
            [("a/b", true), ("a", false), ("/b", false), ("a/", false), ("a/\n", false)]
        {
            assert_eq!(is_pattern(text), is, "{text:?}");
        }
    }
}
