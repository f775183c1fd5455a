//! Functions outside the program whose results its text determines.

use crate::methods::{self, folder_of, name_of, path_joined, text_joined};
use crate::value::{HOLE, Kind, Value, elements};

/// Returns true if a name may be one of a function.
pub(crate) fn is_callable(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or(name);
    !last.is_empty() && !last.chars().all(|c| c.is_uppercase() || c == '_')
}

fn list_of(value: Value) -> Value {
    Value::made("[]", vec![value], None)
}

fn below(folder: &Value) -> Value {
    folder.each(|folder| {
        folder.as_text().map_or_else(Value::unknown, |folder| {
            Value::text(&format!("{}/{HOLE}", folder.trim_end_matches('/')))
        })
    })
}

/// Computes the result of a call; none if it is not known.
pub(crate) fn compute(
    name: &str,
    arguments: &[Value],
    keywords: &[(String, Value)],
    results: Option<&Vec<Value>>,
) -> Option<Value> {
    let first = arguments.first().cloned();
    let text = |value: &Value, apply: fn(&str) -> Option<String>| {
        value.each(|value| {
            value
                .as_text()
                .filter(|text| !text.contains(HOLE))
                .and_then(|text| apply(&text))
                .map_or_else(Value::unknown, |text| Value::text(&text))
        })
    };
    Some(match name {
        "str"
        | "String"
        | "bytes"
        | "bytearray"
        | "os.fspath"
        | "os.fsencode"
        | "os.fsdecode"
        | "os.path.abspath"
        | "os.path.realpath"
        | "os.path.normpath"
        | "os.path.expandvars"
        | "URL"
        | "url.URL"
        | "url.pathToFileURL"
        | "url.fileURLToPath"
        | "compile"
        | "textwrap.dedent"
        | "shlex.quote"
        | "pipes.quote"
        | "path.normalize"
        | "os.path.expanduser"
        | "posixpath.expanduser"
        | "os.path.normcase"
        | "inspect.cleandoc" => {
            let first = first?;
            match &first.kind {
                Kind::List(items) => characters(items)?,
                _ if first.as_text().is_some() || matches!(first.kind, Kind::Any(_)) => first,
                Kind::Made(class, parts) if &**class == "pathlib.Path" => parts.first()?.clone(),
                _ => return None,
            }
        }
        "chr" | "String.fromCharCode" | "String.fromCodePoint" => characters(arguments)?,
        "ord" => Value::number(first?.as_text()?.chars().next().map(|c| i64::from(u32::from(c)))?),
        "int" | "Number" | "parseInt" => {
            let text = first?.as_text()?;
            let base =
                arguments.get(1).or(keywords.iter().find(|(k, _)| k == "base").map(|p| &p.1));
            match base.map(|base| &base.kind) {
                None => Value::number(text.trim().parse().ok()?),
                Some(Kind::Number(base @ 2..=36)) => {
                    let digits = text.trim().trim_start_matches("0x").trim_start_matches("0o");
                    let base = u32::try_from(*base).ok()?;
                    Value::number(i64::from_str_radix(digits, base).ok()?)
                }
                Some(_) => return None,
            }
        }
        "bytes.fromhex" | "bytearray.fromhex" | "binascii.unhexlify" | "binascii.a2b_hex" => {
            text(&first?, crate::decode::hex)
        }
        "base64.b64decode"
        | "base64.urlsafe_b64decode"
        | "base64.standard_b64decode"
        | "base64.decodebytes"
        | "binascii.a2b_base64"
        | "atob" => text(&first?, crate::decode::base64),
        "Buffer.from" | "codecs.decode" | "Buffer" => {
            let coding = arguments.get(1).and_then(Value::as_text);
            let first = first?;
            match coding.as_deref() {
                Some("base64" | "base64url") => text(&first, crate::decode::base64),
                Some("hex" | "hex_codec") => text(&first, crate::decode::hex),
                Some("rot13" | "rot_13") => text(&first, |text| Some(crate::decode::rot13(text))),
                None | Some("utf8" | "utf-8" | "ascii") => match &first.kind {
                    Kind::List(items) => characters(items)?,
                    _ => first,
                },
                _ => return None,
            }
        }
        "decodeURIComponent" | "decodeURI" | "unescape" | "urllib.parse.unquote" => {
            text(&first?, crate::decode::percent)
        }
        "os.path.join" | "posixpath.join" | "path.join" | "path.resolve" | "path.posix.join" => {
            text_joined(arguments)
        }
        "pathlib.Path"
        | "pathlib.PosixPath"
        | "pathlib.PurePath"
        | "pathlib.PurePosixPath"
        | "Path" => {
            if arguments.is_empty() {
                path_joined(&[Value::text(".")])
            } else {
                path_joined(arguments)
            }
        }
        "pathlib.Path.home" | "Path.home" => path_joined(&[Value::text("~")]),
        "pathlib.Path.cwd" | "Path.cwd" => path_joined(&[Value::text(".")]),
        "os.homedir" => Value::text("~"),
        "os.getcwd" | "process.cwd" | "Deno.cwd" => Value::text("."),
        "os.tmpdir" | "tempfile.gettempdir" => Value::text("/tmp"),
        "tempfile.mkdtemp"
        | "tempfile.mktemp"
        | "tempfile.TemporaryDirectory"
        | "fs.mkdtempSync" => Value::text(&format!("/tmp/{HOLE}")),
        "os.path.dirname" | "path.dirname" | "posixpath.dirname" => folder_of(&first?),
        "os.path.basename" | "path.basename" => name_of(&first?),
        "os.getenv" | "os.environ.get" | "Deno.env.get" => {
            let first = first?;
            let known = match first.as_text().as_deref() {
                Some("HOME") => Value::text("~"),
                Some("PWD") => Value::text("."),
                _ => Value::made("environment", vec![first], None),
            };
            Value::any([known].into_iter().chain(arguments.get(1).cloned()).collect())
        }
        "list" | "tuple" | "sorted" | "set" | "iter" | "frozenset" | "Array.from"
        | "itertools.chain" | "Object.values" | "Set" | "tqdm.tqdm" | "tqdm" => {
            let first = first?;
            match (&first.kind, results) {
                (_, Some(results)) if name == "Array.from" => Value::list(results.clone()),
                (Kind::List(_), _) if !matches!(name, "set" | "sorted" | "frozenset" | "Set") => {
                    first
                }
                (Kind::Map(items), _) if name == "Object.values" => {
                    Value::list(items.iter().map(|(_, value)| value.clone()).collect())
                }
                (Kind::Text(text), _) if !text.contains(HOLE) && name == "list" => Value::list(
                    text.chars().map(|c| Value::text(c.encode_utf8(&mut [0; 4]))).collect(),
                ),
                _ => Value::made("[]", elements(&first), None),
            }
        }
        "reversed" => methods::slice(&first?, &[None, None, Some(-1)]),
        "next" => Value::any(elements(&first?)),
        "enumerate" => {
            let pairs =
                elements(&first?).into_iter().map(|item| Value::list(vec![Value::unknown(), item]));
            Value::made("[]", pairs.collect(), None)
        }
        "zip" => {
            let lists: Vec<Vec<Value>> = arguments.iter().map(elements).collect();
            let longest = lists.iter().map(Vec::len).max().unwrap_or(0);
            let rows = (0..longest.min(64)).map(|at| {
                Value::list(
                    lists
                        .iter()
                        .map(|list| list.get(at).cloned().unwrap_or_else(Value::unknown))
                        .collect(),
                )
            });
            Value::made("[]", rows.collect(), None)
        }
        "range" => range(arguments),
        "map" | "itertools.starmap" => {
            let results = results?.clone();
            let known = matches!(arguments.get(1).map(|list| &list.kind), Some(Kind::List(_)));
            if known && arguments.len() == 2 {
                Value::list(results)
            } else {
                Value::made("[]", results, None)
            }
        }
        "filter" => Value::made("[]", elements(arguments.get(1)?), None),
        "dict" | "Object" => Value::map(keywords.to_vec()),
        "glob.glob" | "glob.iglob" | "glob.sync" | "glob.globSync" | "fs.globSync" => {
            list_of(first?)
        }
        "os.listdir" | "fs.readdirSync" | "fs.promises.readdir" => list_of(Value::unknown()),
        "os.scandir" => list_of(Value::made("os.DirEntry", vec![below(&first?)], None)),
        "os.walk" => {
            let root = first.unwrap_or_else(|| Value::text("."));
            let inside = Value::any(vec![root.clone(), below(&root)]);
            let names = || list_of(Value::unknown());
            list_of(Value::list(vec![inside, names(), names()]))
        }
        "shlex.split" => {
            let first = first?;
            methods::of_value(&first, "split", &[], &[], None, true)
        }
        "shlex.join" => methods::join(&Value::text(" "), &first?),
        _ => return None,
    })
}

/// Computes the result of a path's method. The path itself is the first of the values.
pub(crate) fn compute_path(name: &str, of: &Value, arguments: &[Value]) -> Option<Value> {
    let Kind::Made(_, parts) = &of.kind else { return None };
    let path = parts.first()?.clone();
    let with = |more: &[Value]| {
        let all: Vec<Value> = [path.clone()].into_iter().chain(more.iter().cloned()).collect();
        path_joined(&all)
    };
    Some(match name {
        "joinpath" => with(arguments),
        "resolve" | "absolute" | "expanduser" => of.clone(),
        "with_name" | "with_stem" => path_joined(&[folder_of(&path), arguments.first()?.clone()]),
        "with_suffix" => {
            path_joined(&[Value::joined(&[folder_of(&path), Value::text(&format!("/{HOLE}"))])])
        }
        "iterdir" => list_of(path_joined(&[below(&path)])),
        "glob" => list_of(with(arguments)),
        "rglob" => list_of(with(&[Value::text("**"), arguments.first()?.clone()])),
        "as_posix" | "__str__" | "__fspath__" => path,
        _ => return None,
    })
}

fn characters(items: &[Value]) -> Option<Value> {
    let text: Option<String> = items
        .iter()
        .map(|item| match item.kind {
            Kind::Number(number) => u32::try_from(number).ok().and_then(char::from_u32),
            _ => None,
        })
        .collect();
    Some(Value::text(&text?))
}

fn range(arguments: &[Value]) -> Value {
    let number = |at: usize| match arguments.get(at).map(|value| &value.kind) {
        Some(Kind::Number(number)) => Some(*number),
        _ => None,
    };
    let bounds = match (arguments.len(), number(0), number(1)) {
        (1, Some(end), _) => Some((0, end)),
        (2, Some(from), Some(end)) => Some((from, end)),
        _ => None,
    };
    match bounds {
        Some((from, end)) if end.saturating_sub(from) <= 64 => {
            Value::list((from..end).map(Value::number).collect())
        }
        _ => list_of(Value::unknown()),
    }
}
