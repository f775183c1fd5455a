//! Values, as far as the code determines them, and the functions that only compute.

use super::super::super::feed::{self, Source};
use portcullis_inline_code::HOLE;
use std::rc::Rc;

/// The maximum length of a text, in bytes.
const TEXT: usize = 8 * 1024;
/// The maximum number of members of a list.
pub(super) const MEMBERS: usize = 256;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Kind {
    #[default]
    Unknown,
    /// A text, with a hole for each part that is not known.
    Text(Rc<str>),
    List(Rc<Vec<Value>>),
    /// The result of a call: its name, and its arguments.
    Made(Rc<str>, Rc<Vec<Value>>),
}

/// A value, and where its text is from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Value {
    pub kind: Kind,
    pub source: Source,
}

impl Value {
    pub(super) fn text(text: &str) -> Self {
        let end = (0..=TEXT.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
        let end = end.unwrap_or(0);
        let mut kept = text.get(..end).unwrap_or("").to_owned();
        if end < text.len() {
            // The rest is not known, rather than absent.
            kept.push(HOLE);
        }
        Self { kind: Kind::Text(Rc::from(kept)), source: Source::LOCAL }
    }

    pub(super) fn list(mut items: Vec<Self>) -> Self {
        items.truncate(MEMBERS);
        let source = items.iter().fold(Source::LOCAL, |all, item| all.max(item.source));
        Self { kind: Kind::List(Rc::new(items)), source }
    }

    pub(super) fn made(name: &str, arguments: Vec<Self>) -> Self {
        let source = arguments.iter().fold(Source::LOCAL, |all, item| all.max(item.source));
        Self { kind: Kind::Made(Rc::from(name), Rc::new(arguments)), source }
    }

    pub(super) fn with(mut self, source: Source) -> Self {
        self.source = self.source.max(source);
        self
    }

    pub(super) fn as_text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Text(text) => Some(text),
            Kind::List(items) if items.len() == 1 => items.first().and_then(Self::as_text),
            _ => None,
        }
    }

    /// Returns the text if all of it is known.
    pub(super) fn known(&self) -> Option<&str> {
        self.as_text().filter(|text| !text.contains(HOLE))
    }

    /// Returns the text that stands for it inside another one.
    pub(super) fn in_text(&self) -> Rc<str> {
        self.as_text().map_or_else(|| Rc::from(HOLE.to_string()), Rc::from)
    }

    /// Returns its members; a value that is not a list is the only one.
    pub(super) fn members(&self) -> Vec<Self> {
        match &self.kind {
            Kind::List(items) => items.iter().flat_map(Self::members).take(MEMBERS).collect(),
            _ => vec![self.clone()],
        }
    }

    pub(super) fn joined(&self, other: &Self) -> Self {
        let source = self.source.max(other.source);
        if matches!(self.kind, Kind::Unknown) && matches!(other.kind, Kind::Unknown) {
            return Self { source, ..Self::default() };
        }
        if let (Kind::List(one), Kind::List(two)) = (&self.kind, &other.kind) {
            return Self::list(one.iter().chain(two.iter()).cloned().collect());
        }
        Self::text(&format!("{}{}", self.in_text(), other.in_text())).with(source)
    }
}

/// Joins the parts of a path; an absolute part replaces those before it in some languages, and in
/// others never does: the former names more.
pub(super) fn join_path(parts: &[Value]) -> Value {
    let mut whole = String::new();
    let mut source = Source::LOCAL;
    for part in parts.iter().flat_map(Value::members) {
        let text = part.in_text();
        source = source.max(part.source);
        if whole.is_empty() {
            whole.push_str(&text);
        } else {
            whole = format!("{}/{}", whole.trim_end_matches('/'), text.trim_start_matches('/'));
        }
    }
    Value::text(&whole).with(source)
}

fn characters(values: &[Value]) -> Option<Value> {
    let members: Vec<Value> = values.iter().flat_map(Value::members).collect();
    let text: Option<String> = members
        .iter()
        .map(|value| value.known()?.parse::<u32>().ok().and_then(char::from_u32))
        .collect();
    text.filter(|text| !text.is_empty()).map(|text| decoded(&text))
}

fn decoded(text: &str) -> Value {
    Value::text(text).with(Source::DECODED)
}

/// Returns the result of a decoder, if its argument is known.
fn decode(value: Option<&Value>, apply: impl Fn(&str) -> Option<String>) -> Value {
    let text = value.and_then(|value| value.known()).and_then(apply);
    text.map_or_else(|| Value::default().with(Source::DECODED), |text| decoded(&text))
}

fn rotate(text: &str) -> String {
    let rotate = |c: char, first: u8| {
        let at = (u32::from(c) - u32::from(first) + 13) % 26 + u32::from(first);
        char::from_u32(at).unwrap_or(c)
    };
    text.chars()
        .map(|c| match c {
            'a'..='z' => rotate(c, b'a'),
            'A'..='Z' => rotate(c, b'A'),
            _ => c,
        })
        .collect()
}

fn backwards(text: &str) -> String {
    text.chars().rev().collect()
}

/// Names of functions that only compute, for calls without brackets.
pub(super) const COMPUTING: &[&str] = &[
    "pack",
    "unpack",
    "join",
    "reverse",
    "chr",
    "decode_base64",
    "lc",
    "glob",
    "sprintf",
    "substr",
];

/// Returns the result of a function that only computes; none for any other function.
pub(super) fn compute(name: &str, given: &[Value]) -> Option<Value> {
    let first = given.first();
    let text = |at: usize| given.get(at).map(Value::in_text).unwrap_or_else(|| Rc::from(""));
    let short = name.rsplit('.').next().unwrap_or(name);
    Some(match name {
        "Dir.home"
        | "homedir"
        | "System.user_home"
        | "os.UserHomeDir"
        | "dirs.home_dir"
        | "home_dir"
        | "env.home_dir"
        | "std.env.home_dir"
        | "File.HomeDir.my_home"
        | "os.home"
        | "Etc.getpwuid().dir"
        | "fs.path_home"
        | "Path.home" => Value::text("~"),
        "os.Getenv" | "os.getenv" | "getenv" | "Sys.getenv" | "System.getenv" | "env.var"
        | "std.env.var" | "env.var_os" | "std.env.var_os" | "System.get_env" | "ENV.fetch"
        | "System.getProperty" | "sys.env" | "sys.props" | "secure_getenv" | "os.LookupEnv"
        | "System.fetch_env" | "env.get" => match &*text(0) {
            "HOME" | "user.home" | "USERPROFILE" => Value::text("~"),
            "" => return None,
            _ => Value::text(&HOLE.to_string()),
        },
        "File.join"
        | "joinpath"
        | "Path.join"
        | "file.path"
        | "filepath.Join"
        | "path.Join"
        | "File.Spec.catfile"
        | "File.Spec.catdir"
        | "catfile"
        | "catdir"
        | "Path.of"
        | "Paths.get"
        | "File"
        | "java.io.File"
        | "java.nio.file.Path.of"
        | "java.nio.file.Paths.get"
        | "Pathname"
        | "Pathname.new"
        | "URI.create"
        | "URL"
        | "java.net.URL"
        | "URI"
        | "URI.parse"
        | "Path.new"
        | "PathBuf.from"
        | "Path.absname"
        | "file"
        | "os.Path" => join_path(given),
        "File.expand_path" | "Path.expand" | "path.expand" | "expanduser" | "normalizePath"
        | "realpath" | "abspath" | "File.absolute_path" | "os.ExpandEnv" | "expand" | "glob"
        | "Dir.glob" | "String" | "String.from" | "String.new" | "Array" | "c"
        | "String.to_charlist" | "to_charlist" | "List.of" | "Arrays.asList" | "Seq" | "List"
        | "Vector" | "string" | "Vec.from" | "CString.new" | "shellescape" | "escapeshellarg"
        | "escapeshellcmd" | "as.character" | "Cmd" | "OsString.from" | "arrayOf" | "listOf"
        | "trim" => {
            let known = text(0);
            let home = known
                .strip_prefix("$HOME")
                .or_else(|| known.strip_prefix("${HOME}"))
                .filter(|_| short == "ExpandEnv");
            match home {
                Some(rest) => Value::text(&format!("~{rest}")),
                None if given.len() == 1 => first.cloned().unwrap_or_default(),
                None => Value::list(given.to_vec()),
            }
        }
        "paste0" | "string.concat" | "str" | "cat0" => {
            given.iter().fold(Value::text(""), |all, part| all.joined(part))
        }
        "strings.Join" | "String.join" | "paste" | "Enum.join" | "implode" | "join"
        | "table.concat" => {
            let (parts, mark) = match name {
                "join" | "implode" | "String.join" => (given.get(1..)?, text(0)),
                _ => (given.get(..1)?, text(1)),
            };
            let mark = if name == "paste" { Rc::from(" ") } else { mark };
            let parts = if name == "paste" { given } else { parts };
            let parts: Vec<Rc<str>> =
                parts.iter().flat_map(Value::members).map(|part| part.in_text()).collect();
            let source = given.iter().fold(Source::LOCAL, |all, part| all.max(part.source));
            Value::text(&parts.join(&*mark)).with(source)
        }
        "Base64.decode64"
        | "Base64.strict_decode64"
        | "Base64.urlsafe_decode64"
        | "base64_decode"
        | "decode_base64"
        | "MIME.Base64.decode"
        | "Base.decode64"
        | "Base.url_decode64"
        | "base64decode"
        | "Base64.getDecoder().decode"
        | "base64.StdEncoding.DecodeString"
        | "base64.URLEncoding.DecodeString"
        | "jsonlite.base64_dec"
        | "base64enc.base64decode"
        | "base64_dec"
        | "mime.unb64"
        | "unb64"
        | "MIME.Base64.decode_base64"
        | "base64.decode" => decode(first, feed::base64),
        "hex2bin" | "Base.decode16" | "hex.DecodeString" | "hex2bytes" | "hex.decode" => {
            decode(first, |text| feed::hex(&text.to_ascii_lowercase()))
        }
        // A text that is written backwards is hidden from its readers as an encoded one is.
        "strrev" | "string.reverse" | "String.reverse" | "reverse" => {
            let whole: Value = given.iter().fold(Value::text(""), |all, part| all.joined(part));
            match &first?.kind {
                Kind::List(items) => {
                    Value::list(items.iter().rev().cloned().collect()).with(Source::DECODED)
                }
                _ => decode(Some(&whole), |text| Some(backwards(text))),
            }
        }
        "str_rot13" => decode(first, |text| Some(rotate(text))),
        "gzinflate" | "gzuncompress" | "uncompress" | "inflate" | "Zlib.inflate" => {
            Value::default().with(Source::DECODED)
        }
        "pack" => match &*text(0) {
            // Here `pack` encodes: nothing hidden becomes a text.
            "m" | "m0" | "m*" | "u" => Value::default(),
            form if form.starts_with(['H', 'h']) => decode(given.get(1), feed::hex),
            form if form.starts_with(['C', 'c', 'U', 'W']) => {
                characters(given.get(1..)?).unwrap_or_default().with(Source::DECODED)
            }
            _ => Value::default().with(Source::DECODED),
        },
        "unpack" => match &*text(0) {
            "m" | "m0" | "u" => decode(given.get(1), feed::base64),
            _ => Value::default(),
        },
        "chr"
        | "string.char"
        | "intToUtf8"
        | "char"
        | "Char"
        | "rawToChar"
        | "as.raw"
        | "String.fromCharCode"
        | "List.to_string"
        | "to_string"
        | "utf8.char" => {
            let numbers = characters(given);
            match numbers.filter(|_| short != "raw") {
                Some(text) => text,
                None if short == "to_string" => first.cloned().unwrap_or_default(),
                None => {
                    Value { source: first.map_or(Source::LOCAL, |v| v.source), ..Value::default() }
                }
            }
        }
        "str_replace" if given.len() == 3 && given.iter().all(|part| part.known().is_some()) => {
            Value::text(&text(2).replace(&*text(0), &text(1)))
        }
        "substr" => match (first.and_then(Value::known), text(1).parse::<usize>(), given.get(2)) {
            (Some(known), Ok(from), length) => {
                let length = match length {
                    Some(length) => length.known()?.parse::<usize>().ok()?,
                    None => usize::MAX,
                };
                Value::text(&known.chars().skip(from).take(length).collect::<String>())
            }
            _ => return None,
        },
        "str_replace" | "strtr" | "gsub" | "sub" | "sprintf" | "fmt.Sprintf" | "format"
        | "string.format" | "String.format" => format_text(name, given)?,
        _ => return None,
    })
}

/// Returns true for a text that means itself as a pattern, too.
fn is_plain(text: &str) -> bool {
    !text.is_empty()
        && text.chars().all(|c| {
            c.is_alphanumeric() || matches!(c, ' ' | ',' | ';' | ':' | '/' | '_' | '@' | '#' | '=')
        })
}

/// Fills in a format's parts.
fn format_text(name: &str, given: &[Value]) -> Option<Value> {
    if !name.to_ascii_lowercase().ends_with("printf") && !name.ends_with("format") {
        let source = given.iter().fold(Source::LOCAL, |all, part| all.max(part.source));
        return Some(Value::text(&HOLE.to_string()).with(source));
    }
    let (form, parts) = given.split_first()?;
    let form = form.as_text()?;
    let mut parts = parts.iter();
    let mut text = String::new();
    let mut chars = form.chars().peekable();
    while let Some(c) = chars.next() {
        let braces = c == '{' && name == "format";
        if c != '%' && !braces {
            text.push(c);
            continue;
        }
        if chars.next_if(|next| *next == c).is_some() {
            text.push(c);
            continue;
        }
        let ends = |c: char| if braces { c == '}' } else { c.is_ascii_alphabetic() };
        for c in chars.by_ref() {
            if ends(c) {
                break;
            }
        }
        text.push_str(&parts.next().map_or_else(|| Rc::from(HOLE.to_string()), Value::in_text));
        if text.len() > TEXT {
            break;
        }
    }
    let source = given.iter().fold(Source::LOCAL, |all, part| all.max(part.source));
    Some(Value::text(&text).with(source))
}

/// Returns the result of a method that only computes; none for any other method.
pub(super) fn compute_method(of: &Value, name: &str, given: &[Value]) -> Option<Value> {
    let text = |at: usize| given.get(at).map(Value::in_text).unwrap_or_else(|| Rc::from(""));
    Some(match name {
        "strip" | "chomp" | "trim" | "to_s" | "toString" | "freeze" | "dup" | "clone"
        | "unwrap" | "expect" | "unwrap_or_default" | "to_owned" | "into" | "as_str" | "as_ref"
        | "to_string" | "c_str" | "toCharArray" | "to_charlist" | "getBytes" | "getPath"
        | "toFile" | "toPath" | "getAbsolutePath" | "toURI" | "expand_path" | "to_path"
        | "as_path" | "path" | "to_str" | "display" | "toAbsolutePath" | "realpath" | "orElse"
        | "lines" | "get" | "as_bytes" | "shellsplit" | "to_a" | "flatten" | "force_encoding"
        | "ok" | "to_path_buf" | "first" | "asText" | "utf8" | "decode" | "compact"
        | "as_os_str" | "toUri" | "openStream" => of.clone(),
        "downcase" | "toLowerCase" | "lower" | "to_lowercase" => {
            Value::text(&of.as_text()?.to_lowercase()).with(of.source)
        }
        "upcase" | "toUpperCase" | "upper" => {
            Value::text(&of.as_text()?.to_uppercase()).with(of.source)
        }
        "reverse" | "rev" => match &of.kind {
            Kind::List(items) => {
                Value::list(items.iter().rev().cloned().collect()).with(Source::DECODED)
            }
            _ => decode(Some(of), |text| Some(backwards(text))),
        },
        "chars" | "split" | "bytes" => match (name, of.known(), &*text(0)) {
            ("bytes", Some(_), _) => of.clone(),
            ("chars", Some(known), _) | ("split", Some(known), "")
                if name == "chars" || !given.is_empty() =>
            {
                Value::list(known.chars().take(1024).map(|c| Value::text(&c.to_string())).collect())
                    .with(of.source)
            }
            (_, Some(known), "") => {
                Value::list(known.split_whitespace().map(Value::text).collect()).with(of.source)
            }
            (_, Some(known), mark) if given.len() == 1 && is_plain(mark) => {
                Value::list(known.split(mark).map(Value::text).collect()).with(of.source)
            }
            _ => Value { source: of.source, ..Value::default() },
        },
        "join" | "mkString" | "concat" => match &of.kind {
            Kind::List(items) => {
                let parts: Vec<Rc<str>> = items.iter().map(Value::in_text).collect();
                Value::text(&parts.join(&*text(0))).with(of.source)
            }
            Kind::Text(_) if name == "concat" => of.joined(given.first()?),
            Kind::Text(_) => join_path(&[of.clone(), Value::list(given.to_vec())]),
            _ => return None,
        },
        "resolve" | "push" if matches!(of.kind, Kind::Text(_)) => {
            join_path(&[of.clone(), Value::list(given.to_vec())])
        }
        "unpack1" | "unpack" => match &*text(0) {
            form if form.starts_with('m') => decode(Some(of), feed::base64),
            _ => return None,
        },
        "pack" => match &*text(0) {
            form if form.starts_with(['H', 'h']) => decode(Some(of), feed::hex),
            form if form.starts_with(['c', 'C', 'U']) => {
                characters(std::slice::from_ref(of)).unwrap_or_default().with(Source::DECODED)
            }
            _ => return None,
        },
        "map" | "collect" if text(0).ends_with("chr") => characters(std::slice::from_ref(of))?,
        // The sets of ROT13.
        "tr" if text(0).len() > 4 && text(1).starts_with(['N', 'n']) => {
            decode(Some(of), |text| Some(rotate(text)))
        }
        "gsub" | "sub" | "replace" | "replaceAll"
            if given.len() == 2 && of.known().is_some() && is_plain(&text(0)) =>
        {
            let (known, first) = (of.known().unwrap_or(""), name == "sub");
            let most = if first { 1 } else { usize::MAX };
            // A sign in the new text may stand for a part of the old one.
            if text(1).contains(['\\', '$', '%', HOLE]) {
                return Some(Value::text(&HOLE.to_string()).with(of.source));
            }
            Value::text(&known.replacen(&*text(0), &text(1), most)).with(of.source)
        }
        "chr" if of.known().is_some() => characters(std::slice::from_ref(of))?,
        "tr" | "gsub" | "sub" | "replace" | "replaceAll" | "delete_prefix" | "substring"
            if matches!(of.kind, Kind::Text(_)) && !given.is_empty() =>
        {
            Value::text(&HOLE.to_string()).with(of.source.max(Source::LOCAL))
        }
        _ => return None,
    })
}
