//! Edits of a document. New parts look like their surroundings: on separate lines, with the same
//! indentation and line endings, if their neighbours are, else in the same line.

use super::{Children, JsonDocument, NotJson, escape_name};
use serde_json::Value;
use std::ops::Range;

/// The indentation step for a file that shows none.
const STEP: &str = "  ";

impl JsonDocument {
    /// Adds a member at the end of the object at `pointer`.
    ///
    /// # Errors
    /// Fails if there is no object.
    pub fn add_member(&self, pointer: &str, name: &str, value: &Value) -> Result<Self, NotJson> {
        let style = Style::of(self);
        let text = format!("{}{}{}", Value::from(name), style.colon(), style.write(value));
        self.add(pointer, &text, '{')
    }

    /// Adds an element at the end of the array at `pointer`.
    ///
    /// # Errors
    /// Fails if there is no array.
    pub fn add_element(&self, pointer: &str, value: &Value) -> Result<Self, NotJson> {
        self.add(pointer, &Style::of(self).write(value), '[')
    }

    /// Replaces the value at `pointer`.
    ///
    /// # Errors
    /// Fails if there is no value.
    pub fn replace_value(&self, pointer: &str, value: &Value) -> Result<Self, NotJson> {
        let span = self
            .find(pointer)
            .map(|node| node.span.clone())
            .ok_or_else(|| self.nothing(pointer))?;
        self.spliced(span, &Style::of(self).write(value))
    }

    /// Returns the text of the value at `pointer`, as it is in the file.
    #[must_use]
    pub fn find_text(&self, pointer: &str) -> Option<&str> {
        self.text.get(self.find(pointer)?.span.clone())
    }

    /// Replaces the value at `pointer` by the text of another value.
    ///
    /// # Errors
    /// Fails if there is no value, or if the text is none.
    pub fn replace_text(&self, pointer: &str, text: &str) -> Result<Self, NotJson> {
        let span = self
            .find(pointer)
            .map(|node| node.span.clone())
            .ok_or_else(|| self.nothing(pointer))?;
        self.spliced(span, text)
    }

    /// Removes a member or an element, with its superfluous comma.
    ///
    /// # Errors
    /// Fails if there is nothing at `pointer`.
    pub fn remove_value(&self, pointer: &str) -> Result<Self, NotJson> {
        let nothing = || self.nothing(pointer);
        let (above, last) = pointer.rsplit_once('/').ok_or_else(nothing)?;
        let parent = self.find(above).ok_or_else(nothing)?;
        let at = match &parent.children {
            Children::None => None,
            Children::Members(members) => {
                // Of members with one name the last counts, as it does for whoever reads them.
                members.iter().rposition(|member| escape_name(&member.name) == last)
            }
            Children::Elements(_) => last.parse().ok(),
        };
        let spans = parent.spans();
        let at = at.ok_or_else(nothing)?;
        let span = spans.get(at).ok_or_else(nothing)?;
        let within = inside(&parent.span);
        let before = at.checked_sub(1).and_then(|before| spans.get(before));
        let after = spans.get(at + 1);
        let left = before.map_or(within.start, |before| before.end)..span.start;
        let right = span.end..after.map_or(within.end, |after| after.start);
        if self.is_commented(&left) || self.is_commented(&right) {
            return self.remove_among_comments(span, left, right, after.is_some());
        }
        let range = match (before, after) {
            (Some(before), _) => before.end..span.end,
            (None, Some(after)) => span.start..after.start,
            (None, None) => within,
        };
        self.spliced(range, "")
    }

    /// Removes a value whose neighbourhood, `left` and `right` of it, has comments: they stay.
    fn remove_among_comments(
        &self,
        span: &Range<usize>,
        left: Range<usize>,
        right: Range<usize>,
        has_next: bool,
    ) -> Result<Self, NotJson> {
        if has_next {
            let end = match self.is_commented(&right) {
                // The comma goes with its value, and the comment behind it stays.
                true => self.find_comma(&right).map_or(span.end, |comma| comma + 1),
                false => right.end,
            };
            return self.spliced(span.start..end, "");
        }
        // A line's comment on the left would swallow one that follows on the right.
        let start = if self.is_commented(&right) { span.start } else { self.trim_end(&left) };
        let cut = self.spliced_text(start..span.end, "");
        let whole = match self.find_comma(&left) {
            Some(comma) => [cut.get(..comma), cut.get(comma + 1..)].map(Option::unwrap_or_default),
            None => [cut.as_str(), ""],
        };
        Self::read(self.syntax, self.marked, whole.concat())
    }

    /// Returns the first comma in a part of the text, outside comments.
    fn find_comma(&self, part: &Range<usize>) -> Option<usize> {
        let commas = self.text.get(part.clone())?.match_indices(',');
        let outside = |at: &usize| !self.comments.iter().any(|comment| comment.contains(at));
        commas.map(|(at, _)| part.start + at).find(outside)
    }

    /// Returns the end of a part of the text without the white space at its end.
    fn trim_end(&self, part: &Range<usize>) -> usize {
        let text = self.text.get(part.clone()).unwrap_or_default();
        part.start + text.trim_end_matches([' ', '\t', '\r', '\n']).len()
    }

    fn add(&self, pointer: &str, text: &str, bracket: char) -> Result<Self, NotJson> {
        let parent = self.find(pointer).filter(|node| {
            self.text.get(node.span.start..).is_some_and(|text| text.starts_with(bracket))
        });
        let parent = parent.ok_or_else(|| self.nothing(pointer))?;
        let style = Style::of(self);
        let own = self.indentation(parent.span.start);
        let within = inside(&parent.span);
        let Some(last) = parent.spans().pop() else {
            if self.is_commented(&within) {
                let at = self.trim_end(&within);
                let indent = format!("{own}{step}", step = style.step);
                return self.spliced(at..at, &self.after_comment(at, &style, &indent, text));
            }
            let text = match style.lines {
                true => format!(
                    "{newline}{own}{step}{text}{newline}{own}",
                    newline = style.newline,
                    step = style.step
                ),
                false => text.to_owned(),
            };
            return self.spliced(within, &text);
        };
        let first = parent.spans().into_iter().next().map_or(last.start, |first| first.start);
        let in_lines =
            self.text.get(parent.span.start..first).is_some_and(|text| text.contains('\n'));
        let rest = last.end..within.end;
        if self.is_commented(&rest) {
            let at = self.trim_end(&rest);
            let style = Style { lines: in_lines, ..style };
            let text = self.after_comment(at, &style, self.indentation(first), text);
            let kept = self.text.get(last.end..at).unwrap_or_default();
            return self.spliced(last.end..at, &format!(",{kept}{text}"));
        }
        let text = match in_lines {
            true => format!(",{}{}{text}", style.newline, self.indentation(first)),
            false if style.spaced => format!(", {text}"),
            false => format!(",{text}"),
        };
        self.spliced(last.end..last.end, &text)
    }

    /// Returns the white space at the beginning of the line of `offset`.
    fn indentation(&self, offset: usize) -> &str {
        let line = self.text.get(..offset).unwrap_or_default().rfind('\n').map_or(0, |end| end + 1);
        let line = self.text.get(line..).unwrap_or_default();
        let end = line.find(|c| c != ' ' && c != '\t').unwrap_or(line.len());
        line.get(..end).unwrap_or_default()
    }

    /// Returns a new part as it is written at `at`, behind a comment.
    fn after_comment(&self, at: usize, style: &Style, indent: &str, text: &str) -> String {
        let is_open = |comment: &Range<usize>| {
            comment.start < at
                && at <= comment.end
                && self.text.get(comment.start..).is_some_and(|text| text.starts_with("//"))
        };
        // Text behind a line's comment would become a part of it.
        match style.lines || self.comments.iter().any(is_open) {
            true => format!("{}{indent}{text}", style.newline),
            false => format!(" {text}"),
        }
    }

    fn spliced(&self, range: Range<usize>, text: &str) -> Result<Self, NotJson> {
        Self::read(self.syntax, self.marked, self.spliced_text(range, text))
    }

    fn spliced_text(&self, range: Range<usize>, text: &str) -> String {
        let mut whole = self.text.clone();
        whole.replace_range(range, text);
        whole
    }

    fn nothing(&self, pointer: &str) -> NotJson {
        NotJson {
            place: self.find_position(pointer),
            what: format!("there is no `{pointer}` of the kind that is edited"),
            expected: self.syntax.description(),
        }
    }
}

fn inside(span: &Range<usize>) -> Range<usize> {
    span.start + 1..span.end.saturating_sub(1)
}

/// The style of a file.
struct Style {
    newline: &'static str,
    step: String,
    /// True if its values are on separate lines.
    lines: bool,
    /// True if there is a space after colons and commas.
    spaced: bool,
}

impl Style {
    fn of(document: &JsonDocument) -> Self {
        let text = &document.text;
        let children = document.root.spans();
        let first = children.first();
        let lines = first.is_none_or(|first| {
            text.get(document.root.span.start..first.start).is_some_and(|text| text.contains('\n'))
        });
        let step = first
            .filter(|_| lines)
            .map(|first| document.indentation(first.start))
            .filter(|step| !step.is_empty());
        Self {
            newline: if text.contains("\r\n") { "\r\n" } else { "\n" },
            step: step.unwrap_or(STEP).to_owned(),
            lines,
            spaced: lines || text.contains("\": ") || text.contains("\", "),
        }
    }

    const fn colon(&self) -> &'static str {
        if self.spaced { ": " } else { ":" }
    }

    /// Formats a value in one line.
    fn write(&self, value: &Value) -> String {
        let (comma, colon) = if self.spaced { (", ", ": ") } else { (",", ":") };
        match value {
            Value::Object(members) if !members.is_empty() => {
                let members: Vec<String> = members
                    .iter()
                    .map(|(name, value)| {
                        format!("{}{colon}{}", Value::from(name.as_str()), self.write(value))
                    })
                    .collect();
                let (open, close) = if self.spaced { ("{ ", " }") } else { ("{", "}") };
                format!("{open}{}{close}", members.join(comma))
            }
            Value::Array(elements) => {
                let elements: Vec<String> =
                    elements.iter().map(|element| self.write(element)).collect();
                format!("[{}]", elements.join(comma))
            }
            other => other.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::JsonSyntax;
    use serde_json::json;

    fn read(text: &str) -> JsonDocument {
        JsonDocument::parse_document(text.as_bytes()).unwrap()
    }

    fn written(document: &JsonDocument) -> String {
        String::from_utf8(document.bytes()).unwrap()
    }

    #[test]
    fn added_text_looks_like_its_surroundings() {
        for (text, pointer, expected) in [
            ("", "", "{\n  \"new\": { \"x\": [1, 2] }\n}\n"),
            ("{}", "", "{\n  \"new\": { \"x\": [1, 2] }\n}"),
            ("{\n}\n", "", "{\n  \"new\": { \"x\": [1, 2] }\n}\n"),
            ("{\"a\":1}", "", "{\"a\":1,\"new\":{\"x\":[1,2]}}"),
            ("{\"a\": 1}", "", "{\"a\": 1, \"new\": { \"x\": [1, 2] }}"),
            ("{\n\t\"a\": 1\n}\n", "", "{\n\t\"a\": 1,\n\t\"new\": { \"x\": [1, 2] }\n}\n"),
            (
                "{\r\n    \"a\": 1\r\n}",
                "",
                "{\r\n    \"a\": 1,\r\n    \"new\": { \"x\": [1, 2] }\r\n}",
            ),
            ("\u{feff}{\"a\":1}\n\n", "", "\u{feff}{\"a\":1,\"new\":{\"x\":[1,2]}}\n\n"),
            (
                "{\n  \"a\" : {},\n\n  \"b\":[ ]\n}",
                "/a",
                "{\n  \"a\" : {\n    \"new\": { \"x\": [1, 2] }\n  },\n\n  \"b\":[ ]\n}",
            ),
            (
                "{\n  \"a\": {\n      \"odd\": 1,\n    \"even\": 2 }\n}",
                "/a",
                "{\n  \"a\": {\n      \"odd\": 1,\n    \"even\": 2,\n      \"new\": { \"x\": [1, 2] } }\n}",
            ),
            (
                "{\n  \"a\": {\"b\": 1}\n}",
                "/a",
                "{\n  \"a\": {\"b\": 1, \"new\": { \"x\": [1, 2] }}\n}",
            ),
            (
                "{\"ä/~\": {\"é\": 1}}",
                "/ä~1~0",
                "{\"ä/~\": {\"é\": 1, \"new\": { \"x\": [1, 2] }}}",
            ),
        ] {
            let added = read(text).add_member(pointer, "new", &json!({"x": [1, 2]})).unwrap();
            assert_eq!(written(&added), expected, "{text:?}");
            assert_eq!(added.value().pointer(&format!("{pointer}/new/x/1")), Some(&json!(2)));
            let removed = added.remove_value(&format!("{pointer}/new")).unwrap();
            assert_eq!(removed.value(), read(text).value(), "{text:?}");
        }
    }

    #[test]
    fn elements_are_added_replaced_and_removed() {
        for (text, added, replaced, removed) in [
            ("[]", "[\n  7\n]", None, None),
            ("[1]", "[1,7]", Some("[9]"), Some("[]")),
            ("[1, \"a\", 2]", "[1, \"a\", 2, 7]", Some("[9, \"a\", 2]"), Some("[\"a\", 2]")),
            (
                "[\n  1,\n  2\n]",
                "[\n  1,\n  2,\n  7\n]",
                Some("[\n  9,\n  2\n]"),
                Some("[\n  2\n]"),
            ),
        ] {
            let document = read(text);
            assert_eq!(written(&document.add_element("", &json!(7)).unwrap()), added);
            assert_eq!(
                document.replace_value("/0", &json!(9)).ok().as_ref().map(written).as_deref(),
                replaced
            );
            assert_eq!(document.remove_value("/0").ok().as_ref().map(written).as_deref(), removed);
        }
        assert!(read("{}").add_element("", &json!(1)).is_err());
        assert!(read("[]").add_member("", "a", &json!(1)).is_err());
        assert!(read("{\"a\": 1}").add_member("/b", "a", &json!(1)).is_err());
    }

    #[test]
    fn of_a_name_that_stands_twice_the_last_counts() {
        let document = read("{\"a\": 1, \"b\": {\"c\": 1, \"c\": 2, \"c\": 3}, \"a\": 2}");
        assert_eq!(document.repeated(), ["/b/c", "/a"]);
        assert_eq!(document.value(), &json!({"a": 2, "b": {"c": 3}}));
        assert_eq!(
            written(&document.replace_value("/a", &json!(0)).unwrap()),
            "{\"a\": 1, \"b\": {\"c\": 1, \"c\": 2, \"c\": 3}, \"a\": 0}"
        );
        assert_eq!(
            written(&document.remove_value("/b/c").unwrap()),
            "{\"a\": 1, \"b\": {\"c\": 1, \"c\": 2}, \"a\": 2}"
        );
    }

    fn commented(text: &str) -> JsonDocument {
        JsonDocument::parse_syntax(text.as_bytes(), JsonSyntax::WithComments).unwrap()
    }

    #[test]
    fn comments_stay_where_they_are() {
        let new = "\"new\": { \"x\": [1, 2] }";
        for (text, expected) in [
            ("{\n  // none yet\n}\n", format!("{{\n  // none yet\n  {new}\n}}\n")),
            ("{ /* none */ }", format!("{{ /* none */\n  {new} }}")),
            (
                "{\n  // a\n  \"a\": 1 // b\n}\n/* c */",
                format!("{{\n  // a\n  \"a\": 1, // b\n  {new}\n}}\n/* c */"),
            ),
            (
                "{\r\n\t\"a\": 1\r\n\t// b, c \r\n}",
                format!("{{\r\n\t\"a\": 1,\r\n\t// b, c\r\n\t{new} \r\n}}"),
            ),
            ("{\"a\": 1 /* , } */ }", format!("{{\"a\": 1, /* , }} */ {new} }}")),
            ("{\"a\": 1 // \"\n}", format!("{{\"a\": 1, // \"\n{new}\n}}")),
            ("{\"a\": \"// no\"}", format!("{{\"a\": \"// no\", {new}}}")),
            ("{\"a\": 1} // end", format!("{{\"a\": 1, {new}}} // end")),
            ("{\"ä\": \"\\\\\" /* é \u{1f600} */}", {
                format!("{{\"ä\": \"\\\\\", /* é \u{1f600} */ {new}}}")
            }),
        ] {
            let added = commented(text).add_member("", "new", &json!({"x": [1, 2]})).unwrap();
            assert_eq!(written(&added), expected, "{text:?}");
            let removed = written(&added.remove_value("/new").unwrap());
            assert_eq!(removed, text, "{text:?}");
        }
    }

    #[test]
    fn a_value_goes_and_the_comments_around_it_stay() {
        for (text, expected) in [
            ("{\"x\": 0, // x\n \"b\": 2}", "{ // x\n \"b\": 2}"),
            ("{// x\n\"x\": 0, \"b\": 2}", "{// x\n\"b\": 2}"),
            ("{\"a\": 1, // a\n\"x\": 0, // x\n\"b\": 2}", "{\"a\": 1, // a\n // x\n\"b\": 2}"),
            ("{\"a\": 1 /*,*/ , // a\n\"x\": 0\n}", "{\"a\": 1 /*,*/  // a\n}"),
            ("{\"a\": 1, // a\n\"x\": 0 // x\n}", "{\"a\": 1 // a\n // x\n}"),
            ("{// a\n\"x\": 0 /* x\n */}", "{// a\n /* x\n */}"),
            ("{\"x\": /* in it */ 0, \"b\": 2}", "{\"b\": 2}"),
        ] {
            let document = commented(text);
            let removed = document.remove_value("/x").unwrap();
            assert_eq!(written(&removed), expected, "{text:?}");
            assert_eq!(removed.value().get("x"), None, "{text:?}");
            assert_eq!(removed.value().as_object().map(|all| all.len()), {
                document.value().as_object().map(|all| all.len() - 1)
            });
        }
    }

    /// The values are those of the clients' own function (`strip-json-comments` 3.1.1).
    #[test]
    fn comments_are_read_as_the_clients_read_them() {
        for (text, value) in [
            ("// a\n{}", Some(json!({}))),
            ("{}// a", Some(json!({}))),
            ("{} /* open", Some(json!({}))),
            ("{\"a\":1}\n//", Some(json!({"a": 1}))),
            ("{\"a\": 1 /**/}", Some(json!({"a": 1}))),
            ("/*/ {} */ {}", Some(json!({}))),
            ("{ // a\r \"b\":1\n}", Some(json!({}))),
            ("{//\r\n\"a\":1}", Some(json!({"a": 1}))),
            ("{\"a\":\"\\\"//\"}", Some(json!({"a": "\"//"}))),
            (
                "{\"a\" /* b */ : /* c */ 1 /* , */ , // d \"\n\"e\": 2}",
                Some(json!({"a": 1, "e": 2})),
            ),
            ("{\"a\":1/* \u{a0} */}", None),
            ("{\"a\":1,}", None),
            ("{\"a\":1, /* b */ }", None),
            ("{\"a\":1 / 2}", None),
            ("{\"a\": \"x\n// y\"}", None),
            ("{'a':1}", None),
            ("# a\n{}", None),
            ("// alone", None),
        ] {
            let read = JsonDocument::parse_syntax(text.as_bytes(), JsonSyntax::WithComments);
            assert_eq!(read.ok().map(|read| read.value().clone()), value, "{text:?}");
        }
    }

    #[test]
    fn invalid_json_is_named_with_its_place() {
        for (bytes, line, column, what) in [
            (&b"{"[..], 1, 1, "EOF"),
            (b"{\n  // no\n}", 2, 3, "key must be a string"),
            (b"{\"a\": 1,}", 1, 9, "trailing comma"),
            (b"{\"a\": 'x'}", 1, 7, "expected value"),
            (b"{\"a\": 01}", 1, 8, "invalid number"),
            (b"{\"a\": \"\xe9\"}", 1, 8, "not UTF-8"),
            (b"{} x", 1, 4, "trailing characters"),
            (b"{\"a\": NaN}", 1, 7, "expected value"),
        ] {
            let error = JsonDocument::parse_document(bytes).unwrap_err();
            assert_eq!((error.place.line, error.place.column), (line, column), "{error:?}");
            assert!(error.what.contains(what), "{error:?}");
        }
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        assert!(
            JsonDocument::parse_document(deep.as_bytes())
                .unwrap_err()
                .what
                .contains("recursion limit")
        );
    }
}
