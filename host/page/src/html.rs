//! HTML that can hold any text: the markup consists of literals of this program, and all values in
//! it are escaped. There is no way to insert unescaped text.

use portcullis_core::text::is_hostile;
use std::fmt::Display;

/// A piece of a page.
#[derive(Debug, Default)]
pub struct Html(String);

impl Html {
    /// Creates an empty piece.
    pub const fn new() -> Self {
        Self(String::new())
    }

    /// Creates a piece from a template; see [`put_template`](Self::put_template).
    pub fn from_template(template: &'static str, values: &[&dyn Display]) -> Self {
        let mut html = Self::new();
        html.put_template(template, values);
        html
    }

    /// Appends a template in which each `{}` is replaced by the next value, escaped for text and
    /// for quoted attributes. A missing value is replaced by nothing.
    pub fn put_template(&mut self, template: &'static str, values: &[&dyn Display]) {
        let mut values = values.iter();
        for (index, part) in template.split("{}").enumerate() {
            if let Some(value) = (index > 0).then(|| values.next()).flatten() {
                self.escape(&value.to_string());
            }
            self.0.push_str(part);
        }
    }

    /// Appends text in which what stands between two backticks is code; a backtick without a
    /// partner stays one.
    pub fn put_prose(&mut self, text: &str) {
        let parts: Vec<&str> = text.split('`').collect();
        for (index, part) in parts.iter().enumerate() {
            if index % 2 == 0 {
                self.escape(part);
            } else if index + 1 < parts.len() {
                self.put_template("<code>{}</code>", &[part]);
            } else {
                self.put_template("`{}", &[part]);
            }
        }
    }

    /// Appends another piece.
    pub fn add_piece(&mut self, piece: &Self) {
        self.0.push_str(&piece.0);
    }

    /// Returns the HTML.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Escapes characters with a meaning in HTML, and spells out those that deceive a reader.
    fn escape(&mut self, text: &str) {
        for c in text.chars() {
            match c {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                '\n' | '\t' => self.0.push(c),
                c if is_hostile(c) => self.0.extend(c.escape_unicode()),
                c => self.0.push(c),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stay_text() {
        for (template, values, expected) in [
            ("<p>{}</p>", &["a"][..], "<p>a</p>"),
            (
                "<a title=\"{}\">{}</a>",
                &["\" onclick='x'", "</a><script>"],
                "<a title=\"&quot; onclick=&#39;x&#39;\">&lt;/a&gt;&lt;script&gt;</a>",
            ),
            ("{}{}", &["&amp;", "{}"], "&amp;amp;{}"),
            ("{}", &["\u{202e}\u{0}\r\n\t\u{200b}"], "\\u{202e}\\u{0}\\u{d}\n\t\\u{200b}"),
            ("{}|{}", &["one"], "one|"),
            ("no value", &[], "no value"),
        ] {
            let values: Vec<&dyn Display> =
                values.iter().map(|value| value as &dyn Display).collect();
            assert_eq!(Html::from_template(template, &values).as_str(), expected);
        }
    }

    #[test]
    fn text_in_backticks_is_code() {
        for (text, expected) in [
            ("run `ls`, then `a<b`", "run <code>ls</code>, then <code>a&lt;b</code>"),
            ("`ls`", "<code>ls</code>"),
            ("one ` alone", "one ` alone"),
            ("`a` and ` alone", "<code>a</code> and ` alone"),
            ("``", "<code></code>"),
            ("", ""),
            ("no <b>", "no &lt;b&gt;"),
        ] {
            let mut html = Html::new();
            html.put_prose(text);
            assert_eq!(html.as_str(), expected, "{text}");
        }
    }
}
