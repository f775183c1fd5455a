//! As much of Markdown as the pages use: fenced blocks, code spans, links, headings.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// A page.
pub struct Page {
    /// Below the repository's folder.
    pub path: String,
    /// Paragraphs, without fenced blocks.
    prose: Vec<String>,
    /// Fenced blocks: the language and the lines.
    blocks: Vec<(String, Vec<String>)>,
}

/// A code span.
pub struct Span {
    /// Its text on one line.
    pub text: String,
    /// The text between it and the span before it in its paragraph.
    pub before: String,
}

impl Page {
    /// Reads a page.
    pub fn read(root: &Path, path: String) -> Self {
        let text = fs::read_to_string(root.join(&path)).unwrap();
        let mut page = Self { path, prose: vec![String::new()], blocks: Vec::new() };
        let mut open = false;
        for line in text.lines() {
            if let Some(language) = line.trim_start().strip_prefix("```") {
                open = !open;
                if open {
                    page.blocks.push((language.trim().to_owned(), Vec::new()));
                    page.prose.push(String::new());
                }
            } else if open {
                page.blocks.last_mut().unwrap().1.push(line.trim_start().to_owned());
            } else if line.trim().is_empty() {
                page.prose.push(String::new());
            } else {
                let paragraph = page.prose.last_mut().unwrap();
                paragraph.push_str(line);
                paragraph.push('\n');
            }
        }
        assert!(!open, "{}: a fenced block is not closed", page.path);
        page
    }

    /// All code spans, in order.
    pub fn spans(&self) -> Vec<Span> {
        self.prose.iter().flat_map(|paragraph| split(paragraph).0).collect()
    }

    /// The targets of all links within the repository.
    pub fn links(&self) -> Vec<String> {
        let mut found = Vec::new();
        for paragraph in &self.prose {
            let (_, text) = split(paragraph);
            let targets = text
                .split("](")
                .skip(1)
                .filter_map(|rest| rest.split_once(')'))
                .map(|(target, _)| target.trim().to_owned());
            found.extend(targets.filter(|target| {
                !["http://", "https://", "mailto:"].iter().any(|begin| target.starts_with(begin))
            }));
        }
        found
    }

    /// The names that a link can have after `#`.
    pub fn anchors(&self) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        let headings = self
            .prose
            .iter()
            .flat_map(|paragraph| paragraph.lines())
            .filter(|line| line.starts_with('#'));
        for heading in headings.map(|line| anchor(line.trim_start_matches('#'))) {
            let mut name = heading.clone();
            for number in 1.. {
                if found.insert(name) {
                    break;
                }
                name = format!("{heading}-{number}");
            }
        }
        found
    }

    /// The code spans of each row in the last column of the tables in which that column has this title.
    pub fn last_column(&self, title: &str) -> Vec<Vec<String>> {
        let last = |row: &str| {
            let row = row.trim_end().trim_end_matches('|');
            row.rsplit('|').next().unwrap_or_default().trim().to_owned()
        };
        let mut rows = Vec::new();
        for paragraph in &self.prose {
            let mut table = paragraph.lines().filter(|line| line.starts_with('|'));
            if table.next().is_some_and(|head| last(head) == title) {
                // The second line is the rule below the titles.
                let spans = table.skip(1).map(|row| split(&last(row)).0);
                rows.extend(spans.map(|row| row.into_iter().map(|span| span.text).collect()));
            }
        }
        rows
    }

    /// The lines of output that it shows.
    pub fn shown(&self) -> impl Iterator<Item = &str> {
        self.blocks
            .iter()
            .filter(|(language, _)| language == "text")
            .flat_map(|(_, lines)| lines.iter().map(String::as_str))
    }

    /// Texts that may be commands: code spans, and the lines of blocks that are for a shell. What a
    /// prompt precedes is a command in a transcript; its other lines are output.
    pub fn commands(&self) -> Vec<String> {
        let mut found: Vec<String> = self.spans().into_iter().map(|span| span.text).collect();
        for (language, lines) in &self.blocks {
            match language.as_str() {
                "sh" | "bash" => found.extend(joined(lines.iter().map(String::as_str))),
                "console" => {
                    found.extend(joined(lines.iter().filter_map(|line| line.strip_prefix("$ "))))
                }
                _ => {}
            }
        }
        found
    }
}

/// Lines with those that end in a backslash joined to the next.
fn joined<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<String> {
    let (mut found, mut open) = (Vec::new(), String::new());
    for line in lines {
        open.push_str(line.strip_suffix('\\').unwrap_or(line));
        if !line.ends_with('\\') {
            found.push(std::mem::take(&mut open));
        }
    }
    found
}

/// The code spans of a paragraph, and its text without them.
fn split(paragraph: &str) -> (Vec<Span>, String) {
    let (mut spans, mut text, mut before, mut rest) =
        (Vec::new(), String::new(), String::new(), paragraph);
    while let Some(at) = rest.find('`') {
        let (plain, code) = rest.split_at(at);
        let ticks = code.len() - code.trim_start_matches('`').len();
        let (fence, inner) = code.split_at(ticks);
        before.push_str(plain);
        text.push_str(plain);
        match inner.find(fence) {
            Some(end) => {
                let code = inner[..end].split_whitespace().collect::<Vec<_>>().join(" ");
                spans.push(Span { text: code, before: std::mem::take(&mut before) });
                rest = &inner[end + ticks..];
            }
            None => rest = inner,
        }
    }
    text.push_str(rest);
    (spans, text)
}

/// A heading as the book and the usual forges name it in a link.
fn anchor(heading: &str) -> String {
    let kept = |letter: &char| letter.is_alphanumeric() || matches!(letter, '-' | '_' | ' ');
    heading
        .trim()
        .to_lowercase()
        .chars()
        .filter(kept)
        .map(|letter| if letter == ' ' { '-' } else { letter })
        .collect()
}

#[test]
fn spans_links_and_anchors_are_found() {
    let (spans, text) = split("see `a b`, ``c ` d`` and [`e`](f.md#g)\n");
    assert_eq!(
        spans.iter().map(|span| span.text.as_str()).collect::<Vec<_>>(),
        ["a b", "c ` d", "e"]
    );
    assert_eq!((spans[1].before.as_str(), text.as_str()), (", ", "see ,  and [](f.md#g)\n"));
    assert_eq!(anchor(" A project's file"), "a-projects-file");
    assert_eq!(anchor(" Why `x_y`, and how?"), "why-x_y-and-how");
    assert_eq!(joined(["a \\", "b", "c"].into_iter()), ["a b", "c"]);
}
