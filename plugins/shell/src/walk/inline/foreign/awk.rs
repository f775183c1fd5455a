//! The streams of awk's code.

use super::super::super::awk::Stream;
use super::lex::{Kind, Part, Token, read_tokens};
use portcullis_inline_code::HOLE;
use std::collections::BTreeMap;

/// The maximum number of streams.
const STREAMS: usize = 256;

/// Returns the streams of a program, each with its name as far as it is known; the flag says that
/// there is more than was looked at.
pub(in crate::walk) fn awk_streams(code: &str) -> (Vec<(Stream, String)>, bool) {
    let (tokens, cut) = read_tokens(code, "awk");
    let mut reader = Reader { tokens: &tokens, variables: BTreeMap::new(), found: Vec::new() };
    reader.walk();
    let cut = cut || reader.found.len() >= STREAMS;
    (reader.found, cut)
}

struct Reader<'t> {
    tokens: &'t [Token],
    variables: BTreeMap<String, String>,
    found: Vec<(Stream, String)>,
}

impl Reader<'_> {
    fn kind(&self, at: usize) -> Option<&Kind> {
        self.tokens.get(at).map(|token| &token.kind)
    }

    fn is(&self, at: usize, sign: &str) -> bool {
        matches!(self.kind(at), Some(Kind::Sign(found)) if *found == sign)
    }

    fn is_name(&self, at: usize, name: &str) -> bool {
        matches!(self.kind(at), Some(Kind::Name(found)) if found == name)
    }

    fn push(&mut self, stream: Stream, text: String) {
        if self.found.len() < STREAMS && !text.is_empty() {
            self.found.push((stream, text));
        }
    }

    fn walk(&mut self) {
        // Inside of `print`, and the brackets that are open there.
        let mut prints = false;
        let mut open = 0_usize;
        // The value before a pipe.
        let mut before = String::new();
        let mut at = 0;
        while at < self.tokens.len() {
            let mut next = at + 1;
            match self.kind(at) {
                Some(Kind::End) | Some(Kind::Sign("{" | "}")) => {
                    (prints, open) = (false, 0);
                    before.clear();
                }
                Some(Kind::Name(name)) if matches!(name.as_str(), "print" | "printf") => {
                    (prints, open) = (true, 0);
                    before.clear();
                }
                Some(Kind::Name(name)) if name == "system" && self.is(at + 1, "(") => {
                    let (text, _) = self.value(at + 2);
                    self.push(Stream::Run, text);
                }
                Some(Kind::Name(name)) if name == "getline" => {
                    // `getline < x`, `getline line < x`.
                    let behind =
                        if matches!(self.kind(at + 1), Some(Kind::Name(_))) { 2 } else { 1 };
                    if self.is(at + behind, "<") {
                        let (text, end) = self.value(at + behind + 1);
                        if text != "-" && text.contains(|c| c != HOLE) {
                            self.push(Stream::Read, text);
                        }
                        next = end.max(next);
                    }
                }
                Some(Kind::Sign("(")) => {
                    open += 1;
                    before.clear();
                }
                Some(Kind::Sign(")")) => open = open.saturating_sub(1),
                // Inside brackets `>` compares.
                Some(Kind::Sign(">" | ">>")) if prints && open == 0 => {
                    let (text, end) = self.value(at + 1);
                    self.push(Stream::Write, text);
                    next = end.max(next);
                }
                Some(Kind::Sign(sign @ ("|" | "|&"))) => {
                    let both = *sign == "|&";
                    let stream = if both { Stream::Both } else { Stream::Run };
                    if self.is_name(at + 1, "getline") {
                        let text =
                            if before.is_empty() { HOLE.to_string() } else { before.clone() };
                        self.push(stream, text);
                        before.clear();
                    } else if prints {
                        let (text, end) = self.value(at + 1);
                        self.push(if both { stream } else { Stream::Feed }, text);
                        next = end.max(next);
                    }
                }
                Some(Kind::Name(name)) if self.is(at + 1, "=") => {
                    let name = name.clone();
                    let (text, _) = self.value(at + 2);
                    if self.variables.len() < 256 {
                        self.variables.insert(name, text);
                    }
                    before.clear();
                    next = at + 2;
                }
                Some(Kind::Name(_)) if self.is(at + 1, "(") => before.clear(),
                Some(Kind::Name(_) | Kind::Text(_) | Kind::Number(_)) => {
                    let (text, end) = self.value(at);
                    before = text;
                    next = end.max(next);
                }
                _ => before.clear(),
            }
            at = next;
        }
    }

    /// Reads values that are joined; returns the text, and the position behind them.
    fn value(&self, from: usize) -> (String, usize) {
        let mut text = String::new();
        let mut at = from;
        let mut brackets = 0_usize;
        while let Some(kind) = self.kind(at) {
            if text.len() > 8 * 1024 || at > from + 256 {
                break;
            }
            match kind {
                Kind::Text(parts) => {
                    for part in parts {
                        if let Part::Text(part) = part {
                            text.push_str(part);
                        }
                    }
                }
                Kind::Number(number) => text.push_str(number),
                Kind::Name(name)
                    if matches!(name.as_str(), "getline" | "in" | "print" | "printf") =>
                {
                    break;
                }
                Kind::Name(name) => {
                    let environment = name == "ENVIRON"
                        && self.is(at + 1, "[")
                        && matches!(self.kind(at + 2), Some(Kind::Text(parts))
                            if parts.iter().any(|part| *part == Part::Text("HOME".to_owned())));
                    if environment {
                        text.push('~');
                        at += 3;
                    } else {
                        match self.variables.get(name) {
                            Some(known) => text.push_str(known),
                            None if text.ends_with(HOLE) => {}
                            None => text.push(HOLE),
                        }
                        // The arguments of a function, a member of a list, a field.
                        if self.is(at + 1, "[") || self.is(at + 1, "(") {
                            at = self.closed(at + 1);
                        } else if name == "$" || name == "$_" {
                            at += 1;
                        }
                    }
                }
                Kind::Sign("(") => brackets += 1,
                Kind::Sign(")") if brackets > 0 => brackets -= 1,
                _ => break,
            }
            at += 1;
        }
        (text, at)
    }

    /// Returns the position of the bracket that closes one.
    fn closed(&self, from: usize) -> usize {
        let mut open = 0_usize;
        for at in from..(from + 64).min(self.tokens.len()) {
            match self.kind(at) {
                Some(Kind::Sign("(" | "[")) => open += 1,
                Some(Kind::Sign(")" | "]")) => open = open.saturating_sub(1),
                _ => {}
            }
            if open == 0 {
                return at;
            }
        }
        from
    }
}
