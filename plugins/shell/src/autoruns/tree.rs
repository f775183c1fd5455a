//! A YAML text as a tree, for files whose structure matters: maps and lists by indentation or in
//! brackets, texts in each notation, anchors and merges. It never fails; what it does not know is a
//! text.

use std::collections::BTreeMap;

/// The most lines that are read, the deepest nesting, and the most values of one text.
const LINES: usize = 4096;
const DEPTH: usize = 24;
const VALUES: usize = 20_000;

/// A value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    Text(String),
    List(Vec<Node>),
    Map(Vec<(String, Node)>),
}

impl Node {
    /// Returns the value of a key; the last of several counts.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Map(items) => items.iter().rev().find(|(known, _)| known == key).map(|(_, v)| v),
            Self::Text(_) | Self::List(_) => None,
        }
    }

    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::List(_) | Self::Map(_) => None,
        }
    }

    /// Returns the items of a list; of anything else, itself.
    pub(crate) fn items(&self) -> &[Self] {
        match self {
            Self::List(items) => items,
            Self::Text(_) | Self::Map(_) => std::slice::from_ref(self),
        }
    }

    /// Returns the members of a map.
    pub(crate) fn members(&self) -> &[(String, Self)] {
        match self {
            Self::Map(items) => items,
            Self::Text(_) | Self::List(_) => &[],
        }
    }

    fn count(&self) -> usize {
        1 + match self {
            Self::Text(_) => 0,
            Self::List(items) => items.iter().map(Self::count).sum(),
            Self::Map(items) => items.iter().map(|(_, value)| value.count()).sum(),
        }
    }
}

/// Returns the tree of a text, and true if there is more than is read.
pub(crate) fn read_tree(text: &str) -> (Node, bool) {
    let lines: Vec<&str> = text.lines().take(LINES).collect();
    let mut reader = Reader {
        lines,
        at: 0,
        anchors: BTreeMap::new(),
        values: 0,
        cut: text.lines().nth(LINES).is_some(),
    };
    reader.skip();
    let indent = reader.indent();
    let root = reader.block(indent, 0);
    (root, reader.cut)
}

struct Reader<'t> {
    lines: Vec<&'t str>,
    at: usize,
    anchors: BTreeMap<String, Node>,
    values: usize,
    cut: bool,
}

impl<'t> Reader<'t> {
    fn line(&self) -> &'t str {
        self.lines.get(self.at).copied().unwrap_or("")
    }

    fn indent(&self) -> usize {
        let line = self.line();
        line.len() - line.trim_start().len()
    }

    /// Goes to the next line that says something.
    fn skip(&mut self) {
        while self.at < self.lines.len() {
            let line = self.line().trim();
            if !line.is_empty() && !line.starts_with('#') && !matches!(line, "---" | "...") {
                break;
            }
            self.at += 1;
        }
    }

    fn ends(&self) -> bool {
        self.at >= self.lines.len() || self.values > VALUES
    }

    /// Reads the lines of one indentation.
    fn block(&mut self, indent: usize, depth: usize) -> Node {
        self.values += 1;
        if depth > DEPTH || self.values > VALUES {
            self.cut = true;
            self.at = self.lines.len();
            return Node::Text(String::new());
        }
        let first = self.line().trim_start();
        if first == "-" || first.starts_with("- ") {
            return self.list(indent, depth);
        }
        if split_key(first).is_some() {
            let items = self.map(indent, depth);
            return Node::Map(items);
        }
        let text = self.line().trim().to_owned();
        self.at += 1;
        self.value(&text, indent, depth)
    }

    fn list(&mut self, indent: usize, depth: usize) -> Node {
        let mut items = Vec::new();
        loop {
            self.skip();
            let line = self.line();
            let rest = line.trim_start();
            let item = if rest == "-" { Some("") } else { rest.strip_prefix("- ") };
            let Some(item) = item.filter(|_| self.indent() == indent && !self.ends()) else {
                break;
            };
            let inner = item.trim_start();
            let deeper = line.len() - inner.len();
            let (anchor, inner) = anchor_of(inner);
            let value = if inner.is_empty() || inner.starts_with('#') {
                self.at += 1;
                self.below(indent, depth)
            } else if !inner.starts_with(['{', '[', '"', '\'', '|', '>', '*'])
                && split_key(inner).is_some()
                || inner.starts_with("- ")
            {
                // The item is a map or a list that begins on the same line.
                let own = format!("{}{inner}", " ".repeat(deeper));
                self.inline(own, deeper, depth)
            } else {
                self.at += 1;
                self.value(inner, indent, depth)
            };
            self.keep(anchor, &value);
            items.push(value);
        }
        Node::List(items)
    }

    /// Reads a block whose first line is part of another one.
    fn inline(&mut self, first: String, indent: usize, depth: usize) -> Node {
        let text: &str = &first;
        match split_key(text.trim_start()) {
            Some((key, rest)) => {
                self.at += 1;
                let mut items = vec![self.member(key, rest, indent, depth)];
                items.extend(self.map(indent, depth).into_iter().map(Some));
                Node::Map(self.merged(items.into_iter().flatten().collect()))
            }
            None => {
                self.at += 1;
                let inner = text.trim_start().trim_start_matches("- ").to_owned();
                Node::List(vec![self.value(&inner, indent, depth)])
            }
        }
    }

    fn map(&mut self, indent: usize, depth: usize) -> Vec<(String, Node)> {
        let mut items = Vec::new();
        loop {
            self.skip();
            if self.ends() || self.indent() != indent {
                break;
            }
            let Some((key, rest)) = split_key(self.line().trim_start()) else { break };
            self.at += 1;
            items.extend(self.member(key, rest, indent, depth));
        }
        self.merged(items)
    }

    fn member(
        &mut self,
        key: String,
        rest: &str,
        indent: usize,
        depth: usize,
    ) -> Option<(String, Node)> {
        let (anchor, rest) = anchor_of(rest);
        let value = if rest.is_empty() || rest.starts_with('#') {
            self.below(indent, depth)
        } else {
            self.value(rest, indent, depth)
        };
        self.keep(anchor, &value);
        Some((key, value))
    }

    /// Reads the block below a line; an empty text if there is none.
    fn below(&mut self, indent: usize, depth: usize) -> Node {
        self.skip();
        let listed = self.line().trim_start().starts_with('-');
        let deeper = self.indent() > indent || self.indent() == indent && listed;
        if self.ends() || !deeper {
            return Node::Text(String::new());
        }
        let own = self.indent();
        self.block(own, depth + 1)
    }

    /// Reads a value that begins in a line.
    fn value(&mut self, text: &str, indent: usize, depth: usize) -> Node {
        self.values += 1;
        if let Some(name) = text.strip_prefix('*') {
            let name = name.split([' ', '#']).next().unwrap_or(name);
            let known = self.anchors.get(name).cloned();
            self.values += known.as_ref().map_or(0, Node::count);
            return known.unwrap_or_else(|| Node::Text(String::new()));
        }
        if text.starts_with(['|', '>']) {
            return Node::Text(self.literal(text.starts_with('>'), indent));
        }
        let mut text = text.to_owned();
        let open = |text: &str| {
            let count = |sign: &[char]| text.matches(sign).count();
            text.starts_with(['[', '{']) && count(&['[', '{']) > count(&[']', '}'])
        };
        while open(&text) && !self.ends() && text.len() < 64 * 1024 {
            text.push(' ');
            text.push_str(self.line().trim());
            self.at += 1;
        }
        if text.starts_with(['[', '{']) {
            let (node, _) = self.flow(&text, depth);
            return node;
        }
        // A text goes on in deeper lines.
        while !self.ends() && self.indent() > indent && !self.line().trim().is_empty() {
            text.push(' ');
            text.push_str(self.line().trim());
            self.at += 1;
        }
        Node::Text(plain(&text))
    }

    fn literal(&mut self, folds: bool, indent: usize) -> String {
        let mut lines = Vec::new();
        while self.at < self.lines.len() {
            let line = self.line();
            if !line.trim().is_empty() && self.indent() <= indent {
                break;
            }
            lines.push(line.trim());
            self.at += 1;
        }
        lines.join(if folds { " " } else { "\n" })
    }

    /// Reads `[a, b]` or `{a: b}`; returns the rest too.
    fn flow<'r>(&mut self, text: &'r str, depth: usize) -> (Node, &'r str) {
        self.values += 1;
        let text = text.trim_start();
        if depth > DEPTH || self.values > VALUES {
            self.cut = true;
            return (Node::Text(String::new()), "");
        }
        if let Some(mut rest) = text.strip_prefix('[') {
            let mut items = Vec::new();
            loop {
                rest = rest.trim_start_matches([' ', ',']);
                match rest.strip_prefix(']') {
                    Some(after) => return (Node::List(items), after),
                    None if rest.is_empty() => return (Node::List(items), ""),
                    None => {}
                }
                let before = rest.len();
                let (item, after) = self.flow(rest, depth + 1);
                items.push(item);
                rest = after;
                if rest.len() >= before || self.cut {
                    return (Node::List(items), "");
                }
            }
        }
        if let Some(mut rest) = text.strip_prefix('{') {
            let mut items = Vec::new();
            loop {
                rest = rest.trim_start_matches([' ', ',']);
                match rest.strip_prefix('}') {
                    Some(after) => return (Node::Map(self.merged(items)), after),
                    None if rest.is_empty() => return (Node::Map(self.merged(items)), ""),
                    None => {}
                }
                let before = rest.len();
                let end = rest.find([':', ',', '}']).unwrap_or(rest.len());
                let (key, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
                let (value, after) = match after.strip_prefix(':') {
                    Some(value) => self.flow(value, depth + 1),
                    None => (Node::Text(String::new()), after),
                };
                items.push((key.trim().trim_matches(['"', '\'']).to_owned(), value));
                rest = after;
                if rest.len() >= before || self.cut {
                    return (Node::Map(items), "");
                }
            }
        }
        if let Some(quote) = text.chars().next().filter(|c| matches!(c, '"' | '\'')) {
            let mut escaped = false;
            let end = text.char_indices().skip(1).find(|(_, sign)| {
                let ends = *sign == quote && !escaped;
                escaped = *sign == '\\' && quote == '"' && !escaped;
                ends
            });
            let end = end.map_or(text.len(), |(at, _)| at + 1);
            let (own, rest) = text.split_at_checked(end).unwrap_or((text, ""));
            return (Node::Text(plain(own)), rest);
        }
        // A variable's brace ends nothing: `${HOME}/x`.
        let mut variable = false;
        let end = text.char_indices().find(|(at, sign)| {
            variable |= *sign == '{' && text.get(..*at).is_some_and(|before| before.ends_with('$'));
            let ends = !variable && matches!(sign, ',' | ']' | '}');
            variable &= *sign != '}';
            ends
        });
        let end = end.map_or(text.len(), |(at, _)| at);
        let (own, rest) = text.split_at_checked(end).unwrap_or((text, ""));
        let own = own.trim();
        match own.strip_prefix('*').and_then(|name| self.anchors.get(name).cloned()) {
            Some(known) => {
                self.values += known.count();
                (known, rest)
            }
            None => (Node::Text(own.to_owned()), rest),
        }
    }

    fn keep(&mut self, anchor: Option<&str>, value: &Node) {
        if let Some(name) = anchor {
            self.values += value.count();
            self.anchors.insert(name.to_owned(), value.clone());
        }
    }

    /// Puts the members of the maps that `<<` names before the map's own.
    fn merged(&mut self, items: Vec<(String, Node)>) -> Vec<(String, Node)> {
        let (merges, own): (Vec<_>, Vec<_>) = items.into_iter().partition(|(key, _)| key == "<<");
        let mut all: Vec<(String, Node)> = Vec::new();
        for (_, node) in &merges {
            all.extend(node.items().iter().flat_map(|map| map.members().iter().cloned()));
        }
        all.extend(own);
        all
    }
}

/// Returns the key of a line, and what stands behind it.
fn split_key(line: &str) -> Option<(String, &str)> {
    if let Some(quote) = line.chars().next().filter(|c| matches!(c, '"' | '\'')) {
        let (key, rest) = line.get(1..)?.split_once(quote)?;
        return Some((key.to_owned(), rest.trim_start().strip_prefix(':')?.trim()));
    }
    if line.starts_with(['[', '{', '#', '*', '|', '>']) {
        return None;
    }
    let at = line.char_indices().find(|(at, c)| {
        let next = line.get(at + 1..).unwrap_or("");
        *c == ':' && (next.is_empty() || next.starts_with([' ', '\t']))
    });
    let (key, rest) = line.split_at_checked(at?.0)?;
    Some((key.trim().to_owned(), rest.get(1..)?.trim()))
}

/// Returns the anchor before a value, and the value without it and without its tag.
fn anchor_of(value: &str) -> (Option<&str>, &str) {
    let (mut anchor, mut rest) = (None, value.trim());
    while rest.starts_with(['&', '!']) {
        let (word, after) = rest.split_once([' ', '\t']).unwrap_or((rest, ""));
        anchor = word.strip_prefix('&').or(anchor);
        rest = after.trim_start();
    }
    (anchor, rest)
}

/// Returns a text without its quotes and the comment behind it.
fn plain(text: &str) -> String {
    let text = text.trim();
    match text.chars().next().filter(|c| matches!(c, '"' | '\'')) {
        Some('\'') => {
            let inner = text.get(1..).unwrap_or("");
            let end = inner.rfind('\'').unwrap_or(inner.len());
            inner.get(..end).unwrap_or(inner).replace("''", "'")
        }
        Some(_) => {
            let mut out = String::new();
            let mut signs = text.chars().skip(1);
            while let Some(sign) = signs.next() {
                match sign {
                    '"' => break,
                    '\\' => match signs.next() {
                        Some('n') => out.push('\n'),
                        Some('t') => out.push('\t'),
                        Some(other) => out.push(other),
                        None => {}
                    },
                    other => out.push(other),
                }
            }
            out
        }
        None => text.split(" #").next().unwrap_or(text).trim_end().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(node: &Node) -> String {
        match node {
            Node::Text(text) => format!("{text:?}"),
            Node::List(items) => {
                format!("[{}]", items.iter().map(shown).collect::<Vec<_>>().join(","))
            }
            Node::Map(items) => {
                let items = items.iter().map(|(key, value)| format!("{key}:{}", shown(value)));
                format!("{{{}}}", items.collect::<Vec<_>>().join(","))
            }
        }
    }

    #[test]
    fn each_notation_has_the_same_tree() {
        for (text, expected) in [
            ("a: b\nc: d # no\n", "{a:\"b\",c:\"d\"}"),
            ("a:\n  - b\n  - 'c d'\n", "{a:[\"b\",\"c d\"]}"),
            ("a:\n- b\n- c\nd: e\n", "{a:[\"b\",\"c\"],d:\"e\"}"),
            ("a: [b, \"c, d\", [e]]\n", "{a:[\"b\",\"c, d\",[\"e\"]]}"),
            ("a: {b: c, d: [e, f]}\n", "{a:{b:\"c\",d:[\"e\",\"f\"]}}"),
            ("a:\n  - b: c\n    d: e\n  - f\n", "{a:[{b:\"c\",d:\"e\"},\"f\"]}"),
            ("a:\n  -\n    b: c\n", "{a:[{b:\"c\"}]}"),
            ("a: |\n  b\n  c\nd: e\n", "{a:\"b\\nc\",d:\"e\"}"),
            ("a: >\n  b\n  c\n", "{a:\"b c\"}"),
            ("a: b\n  c\n", "{a:\"b c\"}"),
            ("a: [b,\n    c]\nd: e\n", "{a:[\"b\",\"c\"],d:\"e\"}"),
            ("x: &k\n  a: b\ny:\n  <<: *k\n  c: d\n", "{x:{a:\"b\"},y:{a:\"b\",c:\"d\"}}"),
            ("x: &k [a]\ny: *k\n", "{x:[\"a\"],y:[\"a\"]}"),
            ("\"a b\": 'it''s'\n", "{a b:\"it's\"}"),
            ("a: /b:/c\n", "{a:\"/b:/c\"}"),
            ("- /a:/b\n- c\n", "[\"/a:/b\",\"c\"]"),
            ("---\na: b\n", "{a:\"b\"}"),
            ("a:\nb: c\n", "{a:\"\",b:\"c\"}"),
            ("a:\n  # no\n\n  b: c\n", "{a:{b:\"c\"}}"),
            ("", "\"\""),
        ] {
            assert_eq!(shown(&read_tree(text).0), expected, "{text}");
        }
    }

    #[test]
    fn hostile_texts_end() {
        let mut bomb = "a0: &a0 [x, x]\n".to_owned();
        for n in 1..40 {
            let before = n - 1;
            bomb.push_str(&format!("a{n}: &a{n} [*a{before}, *a{before}]\n"));
        }
        let deep: String = (0..2_000).map(|n| format!("{}a:\n", " ".repeat(n))).collect();
        for text in [
            bomb,
            deep,
            "a: ".to_owned() + &"[".repeat(50_000),
            "a: ".to_owned() + &"{b: ".repeat(20_000),
            "a: b\n".repeat(10_000),
        ] {
            assert!(read_tree(&text).1, "{}", text.get(..60).unwrap_or(""));
        }
        for text in
            ["a: {", "a: [", "- ", "-", ":", "a: &", "a: *", "<<: *x", "'", "\"", "{:", "a: }"]
        {
            read_tree(text);
        }
    }
}
