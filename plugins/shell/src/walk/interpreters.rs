//! Programs that run a text: shells, `eval`, interpreters with code on the command line.

use super::code_flags::{Interpreter, attached_code, encoded, find_code, spoken};
use super::environment::UNKNOWN;
use super::expand::{Field, is_unknown};
use super::feed::{Feed, Source, Trust};
use super::languages::{self, is_shell};
use super::simple::Call;
use super::{Setting, Walker};
use crate::catalogue;
use crate::types::{EffectKind, Origin};

/// The contents of the words of an interpreter's call.
#[derive(Default)]
struct Read {
    /// Each text, and the position of the word behind it.
    code: Vec<(usize, Field)>,
    module: Option<usize>,
    script: Option<usize>,
    in_place: bool,
}

impl Walker<'_> {
    /// Runs programs whose purpose is to run a text; none for all others.
    pub(super) fn starts_text(
        &mut self,
        name: &str,
        first: &Field,
        rest: &[Field],
        call: &Call,
        setting: &Setting,
    ) -> Option<Feed> {
        if is_shell(name) {
            return Some(self.shell(name, first, rest, call, setting));
        }
        if let Some(interpreter) = languages::interpreter_of(name, rest) {
            return self.interpreter(interpreter, name, first, rest, call, setting);
        }
        match name.to_ascii_lowercase().trim_end_matches(".exe") {
            "eval" | "iex" | "invoke-expression" if rest.is_empty() && name != "eval" => {
                Some(self.piped_in(name, None, first, rest, call, setting))
            }
            "cmd"
                if rest
                    .iter()
                    .any(|field| matches!(field.text.as_str(), "/c" | "/C" | "/k" | "/K")) =>
            {
                let at = rest.iter().position(|field| {
                    field.text.starts_with('/')
                        && field.text.to_ascii_lowercase().ends_with(['c', 'k'])
                });
                let words = rest.get(at.map_or(rest.len(), |at| at + 1)..).unwrap_or_default();
                let text =
                    words.iter().map(|field| field.text.as_str()).collect::<Vec<_>>().join(" ");
                let span = words.first().map_or(first.span, |field| field.span);
                let field = Field {
                    text,
                    known: words.iter().all(|field| field.known),
                    source: super::worst(words),
                    span,
                    ..Field::default()
                };
                Some(self.text_or_record("cmd", &field, first, rest, call, setting))
            }
            "eval" | "iex" | "invoke-expression" => {
                let rest = evaluated_once(name, rest);
                let text =
                    rest.iter().map(|field| field.text.as_str()).collect::<Vec<_>>().join(" ");
                let span = rest.first().map_or(first.span, |field| field.span);
                let field = Field {
                    text,
                    known: rest.iter().all(|field| field.known),
                    source: super::worst(rest),
                    span,
                    pieces: rest.first().filter(|_| rest.len() == 1).and_then(|f| f.pieces.clone()),
                    ..Field::default()
                };
                Some(self.text_or_record(name, &field, first, rest, call, setting))
            }
            "source" | "." => Some(self.sourced(name, first, rest, call, setting)),
            _ => None,
        }
    }

    fn shell(
        &mut self,
        name: &str,
        first: &Field,
        rest: &[Field],
        call: &Call,
        setting: &Setting,
    ) -> Feed {
        let (mut at, mut has_code, mut from_input) = (0, false, false);
        while let Some(field) = rest.get(at) {
            let text = field.text.as_str();
            if matches!(text, "-" | "--") {
                at += 1;
                break;
            }
            if !text.starts_with(['-', '+']) {
                break;
            }
            if let Some(file) = started(text, rest.get(at + 1)) {
                self.held("script-shell", &file, name, None, setting);
            }
            let short = !text.starts_with("--");
            has_code |= short && text.contains('c') && text.starts_with('-');
            from_input |= short && text.contains('s');
            at += if matches!(text, "--rcfile" | "--init-file" | "-O" | "+O")
                || (short && text.ends_with('o'))
            {
                2
            } else {
                1
            };
        }
        let operand = rest.get(at);
        if has_code {
            let Some(code) = operand else { return Feed::default() };
            let mark = self.env.mark();
            self.arguments(rest.get(at + 2..).unwrap_or_default());
            let feed = self.text_or_record(&format!("{name} -c"), code, first, rest, call, setting);
            self.env.restore(mark);
            return feed;
        }
        match operand.filter(|field| !from_input && field.text != "/dev/stdin") {
            Some(script) => self.script_file(name, script, first, rest, call, setting),
            None => self.piped_in(name, None, first, rest, call, setting),
        }
    }

    /// Walks code in a word, or notes that it is known only at run time.
    fn text_or_record(
        &mut self,
        label: &str,
        code: &Field,
        first: &Field,
        rest: &[Field],
        call: &Call,
        setting: &Setting,
    ) -> Feed {
        let nothing_known =
            code.text.chars().all(|c| c == UNKNOWN || c.is_whitespace()) && !code.known;
        let name = label.split(' ').next().unwrap_or(label);
        let command = (nothing_known || code.source.is_unseen())
            .then(|| self.record(name, first, rest, None, None, call, setting))
            .flatten();
        self.unseen(code.source, command, setting);
        if let Some(pieces) = code.pieces.as_ref().filter(|_| nothing_known)
            && self.run_pieces(pieces, None, code, command, label == "eval", setting)
        {
            return Feed { source: code.source, from: command, open: true, ..Feed::default() };
        }
        if nothing_known {
            if !code.source.is_unseen() {
                self.out.gap("a text that is run but known only when it runs");
                self.plain(EffectKind::ProcessStart, "", false, command, setting);
            }
            return Feed { source: code.source, from: command, open: true, ..Feed::default() };
        }
        let inner = Setting { input: call.input.clone(), ..setting.clone() };
        self.nested(code, label, &inner)
    }

    /// Walks the text of a word as a shell would.
    pub(super) fn nested(&mut self, code: &Field, label: &str, setting: &Setting) -> Feed {
        if let Some(pieces) = code.pieces.as_ref().filter(|_| is_unknown(&code.text))
            && self.run_pieces(pieces, None, code, None, label == "eval", setting)
        {
            return Feed::default();
        }
        let mut inner = setting.clone();
        inner.wrappers.push(label.to_owned());
        inner.origin = Origin::Nested;
        if !matches!(label, "eval" | "trap" | "alias" | "source" | ".") {
            self.shells += 1;
            inner.shell = self.shells;
        }
        let span = setting.fixed.unwrap_or(code.span);
        self.text(&code.text, Some(span), &inner)
    }

    /// Follows a command that code starts. Its output is the code's, so a command that prints the
    /// whole environment is a reading of it.
    pub(super) fn nested_for_code(
        &mut self,
        text: &Field,
        command: Option<u32>,
        setting: &Setting,
    ) {
        let output = self.nested(text, "code", setting);
        if output.source.trust == Trust::Environment {
            self.plain(EffectKind::SecretRead, "environment", false, command, setting);
        }
    }

    /// Notes that text which nobody has seen is run.
    pub(super) fn unseen(&mut self, source: Source, command: Option<u32>, setting: &Setting) {
        if source.changed {
            self.out.file_gap(super::scripts::REWRITTEN);
        }
        let form = match source.trust {
            Trust::Downloaded => "pipe-to-shell",
            Trust::Decoded => "hidden-command",
            Trust::Local | Trust::Environment => return,
        };
        self.out.form(form, command);
        self.plain(EffectKind::UnseenCode, "", false, command, setting);
    }

    /// Follows a shell or an interpreter that reads its code from its standard input.
    pub(super) fn piped_in(
        &mut self,
        name: &str,
        language: Option<&'static str>,
        first: &Field,
        rest: &[Field],
        call: &Call,
        setting: &Setting,
    ) -> Feed {
        let command = self.record(name, first, rest, None, None, call, setting);
        let input = &call.input;
        if call.redirections.iter().any(|redirection| {
            redirection.target.text.starts_with("/dev/tcp/")
                || redirection.target.text.starts_with("/dev/udp/")
        }) {
            self.out.form("remote-shell", command);
            self.plain(EffectKind::UnseenCode, "", false, command, setting);
        }
        self.unseen(input.source, command, setting);
        let text = input.text.clone().or_else(|| {
            input.items.clone().filter(|text| text.chars().any(|c| c != UNKNOWN)).map(Into::into)
        });
        match text {
            Some(text) => {
                let field = Field {
                    text: text.to_string(),
                    known: input.text.is_some(),
                    source: input.source,
                    span: first.span,
                    ..Field::default()
                };
                let inner = Setting { input: Feed::default(), beside: false, ..setting.clone() };
                match language {
                    None => self.nested(&field, name, &inner),
                    Some(language) => self.code(language, &field, command, &inner),
                };
            }
            None if input.pieces.as_ref().is_some_and(|pieces| {
                self.run_pieces(pieces, language, first, command, false, setting)
            }) => {}
            None if input.open && !input.source.is_unseen() => {
                self.out.gap("a text that is run but known only when it runs");
                self.plain(EffectKind::ProcessStart, "", false, command, setting);
            }
            None => {}
        }
        Feed { source: input.source, from: command, open: true, ..Feed::default() }
    }

    fn interpreter(
        &mut self,
        which: &Interpreter,
        name: &str,
        first: &Field,
        rest: &[Field],
        call: &Call,
        setting: &Setting,
    ) -> Option<Feed> {
        if let Some(text) = rest
            .iter()
            .zip(rest.iter().skip(1))
            .find_map(|(flag, value)| encoded(which, &flag.text, &value.text))
        {
            let command = self.record(name, first, rest, None, None, call, setting);
            self.unseen(Source::DECODED, command, setting);
            return Some(self.nested(&Field { text, ..first.clone() }, name, setting));
        }
        let read = interpreter_words(which, rest);
        let asks = rest
            .iter()
            .any(|field| matches!(field.text.as_str(), "--version" | "-V" | "--help" | "-v"));
        if let Some(at) = read.module {
            let mut inner = setting.clone();
            inner.wrappers.push(format!("{name} -m"));
            self.out.shape(name);
            self.out.shape(" -m ");
            let mut fields: Vec<Field> = rest.get(at..).unwrap_or_default().to_vec();
            if let Some(module) = fields.first().cloned()
                && (catalogue::find(&module.text, &[]).is_none()
                    || catalogue::find("python-module", &[&module.text])
                        .is_some_and(|found| found.depth > 0))
            {
                self.run_module(&module, setting);
                fields.insert(0, Field { text: "python-module".to_owned(), ..module });
            }
            return Some(self.run(&fields, call, &inner));
        }
        if !read.code.is_empty() {
            let command = self.record(name, first, rest, None, None, call, setting);
            let mut said = Feed::default();
            let language = spoken(which, rest);
            for (behind, field) in &read.code {
                self.unseen(field.source, command, setting);
                if which.language == "powershell" {
                    let text = field.text.trim_start_matches(['&', ' ']);
                    let text = text
                        .strip_prefix('{')
                        .and_then(|text| text.trim_end().strip_suffix('}'))
                        .unwrap_or(text)
                        .to_owned();
                    said = self.nested(
                        &Field { text, ..field.clone() },
                        name,
                        &Setting { input: call.input.clone(), ..setting.clone() },
                    );
                    continue;
                }
                self.installed_by_code(language, &field.text, command, setting);
                let given = rest.get(*behind..);
                if let Some(pieces) = &field.pieces
                    && self.run_pieces(pieces, Some(language), field, command, false, setting)
                {
                    continue;
                }
                said = self.code_with(language, field, given, command, setting);
            }
            for field in rest
                .iter()
                .skip(read.script.unwrap_or(rest.len()))
                .filter(|_| which.language == "perl" || which.language == "ruby")
            {
                let kind =
                    if read.in_place { EffectKind::FileModify } else { EffectKind::FileRead };
                self.file(kind, field, false, command, setting);
            }
            let said = if read.code.len() == 1
                && !rest
                    .iter()
                    .any(|field| matches!(field.text.as_str(), "-n" | "-p" | "-ne" | "-pe"))
            {
                said
            } else {
                Feed::default()
            };
            return Some(Feed { source: call.input.source, from: command, open: true, ..said });
        }
        if asks && read.script.is_none() {
            self.record(name, first, rest, None, None, call, setting);
            return Some(Feed::default());
        }
        self.django_shell(which, read.script, rest, &call.input, setting);
        Some(
            match read
                .script
                .and_then(|at| rest.get(at))
                .filter(|field| field.text != "-" && field.text != "/dev/stdin")
            {
                Some(script) => self.script_file(name, script, first, rest, call, setting),
                None => self.piped_in(name, Some(spoken(which, rest)), first, rest, call, setting),
            },
        )
    }
}

/// Returns the file that a shell reads before it starts, if this flag names one.
fn started(flag: &str, next: Option<&Field>) -> Option<Field> {
    let attached = ["--rcfile=", "--init-file="].iter().find_map(|start| flag.strip_prefix(start));
    match attached {
        Some(file) => Some(Field { text: file.to_owned(), ..next.cloned().unwrap_or_default() }),
        None => next.filter(|_| matches!(flag, "--rcfile" | "--init-file")).cloned(),
    }
}

/// Returns the words after a sequence of `eval`, if reading them once more changes nothing: no
/// quote, no value.
fn evaluated_once<'f>(name: &str, rest: &'f [Field]) -> &'f [Field] {
    let again = rest.iter().take_while(|field| field.text == "eval").count();
    let rest_of = rest.get(again..).unwrap_or_default();
    let settled = |field: &Field| {
        field.known
            && !field.text.contains(['\'', '"', '\\', '$', '`', '{', '*', '?', '[', '#', '\n'])
    };
    if name == "eval" && rest_of.iter().all(settled) { rest_of } else { rest }
}

fn is_file_flag(text: &str) -> bool {
    matches!(text.to_ascii_lowercase().as_str(), "-file" | "-f" | "/file")
}

fn interpreter_words(which: &Interpreter, rest: &[Field]) -> Read {
    let mut read = Read::default();
    let mut at = 0;
    while let Some(field) = rest.get(at) {
        let text = field.text.as_str();
        let verb = at == 0 && languages::has_verb_first(which);
        let is_flag = text.starts_with('-') && text != "-" || which.code.contains(&text);
        if !is_flag && verb {
            at += 1;
            continue;
        }
        // PowerShell names its script in a flag.
        let named = which.language == "powershell" && is_file_flag(text);
        if named && rest.get(at + 1).is_some() {
            read.script = Some(at + 1);
            break;
        }
        if !is_flag {
            read.script = Some(at);
            break;
        }
        let letters = if text.starts_with("--") { "" } else { text.get(1..).unwrap_or("") };
        read.in_place |= which.language == "perl" && letters.contains('i')
            || which.language == "ruby" && letters.starts_with('i');
        let is_code = which.code.contains(&text)
            || find_code(which.language, letters) == Some("")
            || (which.language == "python" && letters.ends_with('c') && letters.len() < 4);
        let attached = attached_code(which, text, letters);
        if let Some(code) = attached.filter(|_| !is_code) {
            read.code.push((at + 1, Field { text: code.to_owned(), ..field.clone() }));
        } else if is_code {
            read.code.extend(rest.get(at + 1).map(|code| (at + 2, code.clone())));
            at += 1;
            if which.language == "python" {
                return read;
            }
        } else if which.language == "python" && text == "-m" {
            read.module = Some(at + 1).filter(|at| *at < rest.len());
            return read;
        } else if which.values.contains(&text) {
            at += 1;
        }
        at += 1;
    }
    read
}
