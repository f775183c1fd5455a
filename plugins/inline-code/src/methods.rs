//! Methods and operators of texts, lists and paths: pure, and known by their names.

use crate::value::{HOLE, Kind, Value, elements};
use std::rc::Rc;

/// Returns the name of an object's class, as calls are named by it.
pub(crate) fn class_of(of: &Value) -> String {
    match &of.kind {
        Kind::Name(name) => name.to_string(),
        Kind::Made(class, _) => clip(&format!("{class}()")),
        Kind::Member(of, name) => clip(&format!("{}.{name}", class_of(of))),
        _ => String::new(),
    }
}

fn clip(name: &str) -> String {
    let end = (0..=name.len().min(200)).rev().find(|at| name.is_char_boundary(*at)).unwrap_or(0);
    name.get(..end).unwrap_or("").to_owned()
}

/// Returns the position that a number means in a list: from the end, if it is negative.
pub(crate) fn at(length: usize, number: i64) -> Option<usize> {
    let length = i64::try_from(length).ok()?;
    let at = if number < 0 { length + number } else { number };
    usize::try_from(at).ok()
}

/// Returns a part of a text or a list; a bound that is not known is the least number.
pub(crate) fn slice(of: &Value, bounds: &[Option<i64>]) -> Value {
    let bound = |at: usize| bounds.get(at).copied().flatten();
    if bounds.iter().flatten().any(|bound| *bound == i64::MIN) {
        return match &of.kind {
            Kind::List(_) => Value::made("[]", elements(of), None),
            _ => Value::unknown(),
        };
    }
    let range = |length: usize| {
        let end = i64::try_from(length).unwrap_or(i64::MAX);
        let place = |bound: Option<i64>, other: i64| {
            let at = bound.unwrap_or(other);
            usize::try_from((if at < 0 { end + at } else { at }).clamp(0, end)).unwrap_or(0)
        };
        (place(bound(0), 0), place(bound(1), end))
    };
    let step = bound(2).unwrap_or(1);
    let pick = |length: usize| -> Vec<usize> {
        let (from, to) = range(length);
        match step {
            // Of negative steps only this is followed: `[::-1]` hides a text.
            -1 if bound(0).is_none() && bound(1).is_none() => (0..length).rev().collect(),
            step if step > 0 => {
                (from..to).step_by(usize::try_from(step).unwrap_or(1).max(1)).collect()
            }
            _ => Vec::new(),
        }
    };
    let followed = step > 0 || bound(0).is_none() && bound(1).is_none() && step == -1;
    match &of.kind {
        Kind::Text(text) if followed && !text.contains(HOLE) => {
            let chars: Vec<char> = text.chars().collect();
            let picked: String =
                pick(chars.len()).into_iter().filter_map(|at| chars.get(at)).collect();
            Value::text(&picked)
        }
        Kind::List(items) if followed => Value::list(
            pick(items.len()).into_iter().filter_map(|at| items.get(at).cloned()).collect(),
        ),
        Kind::List(_) | Kind::Made(..) => Value::made("[]", elements(of), None),
        _ => Value::unknown(),
    }
}

/// Repeats a text.
pub(crate) fn repeated(text: &str, count: i64) -> Value {
    let count = usize::try_from(count).unwrap_or(0);
    if text.len().saturating_mul(count) > 8192 {
        let part = text.repeat(8192 / text.len().max(1));
        return Value::text(&format!("{part}{HOLE}"));
    }
    Value::text(&text.repeat(count))
}

/// Fills `%s` and the like.
pub(crate) fn percent(text: &str, with: &Value) -> Value {
    let values: Vec<Value> = match &with.kind {
        Kind::List(items) => items.as_ref().clone(),
        _ => vec![with.clone()],
    };
    let mut values = values.into_iter();
    let mut parts = Vec::new();
    let mut left = text;
    while let Some((before, rest)) = left.split_once('%') {
        parts.push(Value::text(before));
        if let Some(after) = rest.strip_prefix('%') {
            parts.push(Value::text("%"));
            left = after;
            continue;
        }
        let (named, rest) = match rest.strip_prefix('(').and_then(|rest| rest.split_once(')')) {
            Some((name, rest)) => (Some(name), rest),
            None => (None, rest),
        };
        let plain = rest.starts_with(['s', 'd', 'i']);
        let value = match (named, &with.kind) {
            (Some(name), Kind::Map(items)) => {
                items.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value.clone())
            }
            (Some(_), _) => None,
            (None, _) => values.next(),
        };
        parts.push(value.filter(|_| plain).unwrap_or_else(Value::unknown));
        let end = rest.find(|c: char| c.is_ascii_alphabetic()).map_or(rest.len(), |at| at + 1);
        left = rest.get(end..).unwrap_or("");
    }
    parts.push(Value::text(left));
    Value::joined(&parts)
}

/// Fills `{}` and the like.
fn formatted(text: &str, arguments: &[Value], keywords: &[(String, Value)]) -> Value {
    let mut next = 0;
    let mut parts = Vec::new();
    let mut left = text;
    while let Some(at) = left.find(['{', '}']) {
        let (before, rest) = (left.get(..at).unwrap_or(""), left.get(at..).unwrap_or(""));
        parts.push(Value::text(before));
        if rest.starts_with("{{") || rest.starts_with("}}") {
            parts.push(Value::text(rest.get(..1).unwrap_or("")));
            left = rest.get(2..).unwrap_or("");
            continue;
        }
        let Some((field, after)) = rest.get(1..).and_then(|rest| rest.split_once('}')) else {
            left = rest.get(1..).unwrap_or("");
            continue;
        };
        let value = if field.is_empty() {
            next += 1;
            arguments.get(next - 1)
        } else if let Ok(number) = field.parse::<usize>() {
            arguments.get(number)
        } else {
            keywords.iter().find(|(name, _)| name == field).map(|(_, value)| value)
        };
        parts.push(value.cloned().unwrap_or_else(Value::unknown));
        left = after;
    }
    parts.push(Value::text(left));
    Value::joined(&parts)
}

/// Joins the items of a list with a text between.
pub(crate) fn join(separator: &Value, list: &Value) -> Value {
    list.each(|list| match &list.kind {
        Kind::List(items) => {
            let mut parts = Vec::new();
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    parts.push(separator.clone());
                }
                parts.push(item.clone());
            }
            Value::joined(&parts)
        }
        Kind::Text(text) if separator.as_text().is_some_and(|text| text.is_empty()) => {
            Value::text(text)
        }
        Kind::Made(class, items) if &**class == "[]" => {
            let first = Value::any(items.as_ref().clone());
            Value::joined(&[first, Value::unknown()])
        }
        _ => Value::unknown(),
    })
}

/// Returns the result of a method of a text, a number or a list.
pub(crate) fn of_value(
    of: &Value,
    name: &str,
    arguments: &[Value],
    keywords: &[(String, Value)],
    results: Option<&Vec<Value>>,
    python: bool,
) -> Value {
    match &of.kind {
        Kind::Text(text) => of_text(of, text, name, arguments, keywords, python),
        Kind::Number(number) => match name {
            "toString" if arguments.is_empty() => Value::text(&number.to_string()),
            _ => Value::unknown(),
        },
        _ => of_list(of, name, arguments, results),
    }
}

fn of_text(
    of: &Value,
    text: &Rc<str>,
    name: &str,
    arguments: &[Value],
    keywords: &[(String, Value)],
    python: bool,
) -> Value {
    let word = |at: usize| arguments.get(at).and_then(Value::as_text);
    let number = |at: usize| match arguments.get(at).map(|value| &value.kind) {
        Some(Kind::Number(number)) => Some(*number),
        Some(_) => Some(i64::MIN),
        None => None,
    };
    match name {
        "format" => formatted(text, arguments, keywords),
        "join" => arguments.first().map_or_else(Value::unknown, |list| join(of, list)),
        "strip" | "trim" | "lstrip" | "rstrip" | "trimEnd" | "trimStart"
            if word(0).is_none() && !arguments.is_empty() =>
        {
            Value::unknown()
        }
        "strip" | "trim" | "lstrip" | "rstrip" | "trimEnd" | "trimStart" => {
            let given = word(0);
            let cut = |c: char| given.as_deref().map_or(c.is_whitespace(), |set| set.contains(c));
            Value::text(match name {
                "lstrip" | "trimStart" => text.trim_start_matches(cut),
                "rstrip" | "trimEnd" => text.trim_end_matches(cut),
                _ => text.trim_matches(cut),
            })
        }
        "lower" | "toLowerCase" | "casefold" => Value::text(&text.to_lowercase()),
        "upper" | "toUpperCase" => Value::text(&text.to_uppercase()),
        "encode" | "normalize" | "valueOf" => of.clone(),
        "decode" | "toString" => match word(0).as_deref() {
            None | Some("utf8" | "utf-8" | "ascii" | "latin1" | "binary") => of.clone(),
            Some(_) => Value::unknown(),
        },
        "replace" | "replaceAll" => match (word(0), word(1)) {
            (Some(from), Some(to)) if !from.is_empty() => {
                replaced(text, (&from, &to), (name, number(2)), python)
            }
            _ => Value::unknown(),
        },
        "removeprefix" | "removesuffix" => match word(0) {
            Some(part) if name == "removeprefix" => {
                Value::text(text.strip_prefix(&*part).unwrap_or(text))
            }
            Some(part) => Value::text(text.strip_suffix(&*part).unwrap_or(text)),
            None => Value::unknown(),
        },
        "split" | "splitlines" | "rsplit" => {
            let most =
                arguments.get(1).or(keywords.iter().find(|(k, _)| k == "maxsplit").map(|p| &p.1));
            let by = keywords.iter().find(|(name, _)| name == "sep").map(|(_, by)| by);
            match arguments.first().or(by) {
                // A pattern, or a text that is not known.
                Some(by) if by.as_text().is_none() && !is_none(by) => {
                    Value::made("[]", vec![Value::unknown()], None)
                }
                by => split(text, (name, python), by.and_then(Value::as_text).as_deref(), most),
            }
        }
        "partition" | "rpartition" => match word(0) {
            Some(by) if !by.is_empty() => {
                let found = if name == "partition" { text.find(&*by) } else { text.rfind(&*by) };
                let parts = match found {
                    Some(at) => {
                        let (before, rest) = text.split_at_checked(at).unwrap_or((text, ""));
                        [before, &*by, rest.get(by.len()..).unwrap_or("")]
                    }
                    None if name == "partition" => [&**text, "", ""],
                    None => ["", "", &**text],
                };
                Value::list(parts.into_iter().map(Value::text).collect())
            }
            _ => Value::unknown(),
        },
        "swapcase" => {
            Value::text(
                &text
                    .chars()
                    .map(|c| {
                        if c.is_uppercase() {
                            c.to_ascii_lowercase()
                        } else {
                            c.to_ascii_uppercase()
                        }
                    })
                    .collect::<String>(),
            )
        }
        "charCodeAt" | "codePointAt" => {
            let at = usize::try_from(number(0).unwrap_or(0)).ok();
            let sign = at.and_then(|at| text.chars().nth(at));
            sign.map_or_else(Value::unknown, |c| Value::number(i64::from(u32::from(c))))
        }
        "concat" => Value::joined(
            &[of.clone()].into_iter().chain(arguments.iter().cloned()).collect::<Vec<_>>(),
        ),
        "repeat" => number(0).map_or_else(Value::unknown, |count| repeated(text, count)),
        "slice" => slice(of, &[number(0), number(1)]),
        "substring" => {
            let known = |at: usize| number(at).filter(|number| *number != i64::MIN);
            match (known(0), number(1).is_none() || known(1).is_some()) {
                (Some(from), true) => {
                    let (from, end) = (from.max(0), known(1).map(|end| end.max(0)));
                    let swaps = end.is_some_and(|end| end < from);
                    let bounds = if swaps { [end, Some(from)] } else { [Some(from), end] };
                    slice(of, &bounds)
                }
                _ => Value::unknown(),
            }
        }
        "substr" => match (number(0), number(1)) {
            (Some(from), length) if from >= 0 && length != Some(i64::MIN) => {
                slice(of, &[Some(from), length.map(|length| from.saturating_add(length.max(0)))])
            }
            _ => Value::unknown(),
        },
        "charAt" if number(0).is_some_and(|at| at < 0) => Value::unknown(),
        "at" | "charAt" => {
            let at = number(0).unwrap_or(0);
            slice(of, &[Some(at), at.checked_add(1).filter(|n| *n != 0)])
        }
        _ => Value::unknown(),
    }
}

/// Replaces a part of a text. JavaScript replaces the first of them alone, and reads signs in the
/// new text.
fn replaced(
    text: &str,
    (from, to): (&str, &str),
    (name, most): (&str, Option<i64>),
    python: bool,
) -> Value {
    if !python && to.contains('$') && text.contains(from) {
        return Value::any(vec![Value::text(&text.replace(from, to)), Value::unknown()]);
    }
    match most.filter(|_| python) {
        Some(i64::MIN) => Value::unknown(),
        Some(most) if most >= 0 => {
            Value::text(&text.replacen(from, to, usize::try_from(most).unwrap_or(usize::MAX)))
        }
        None if name == "replace" && !python => Value::text(&text.replacen(from, to, 1)),
        _ => Value::text(&text.replace(from, to)),
    }
}

fn is_none(value: &Value) -> bool {
    matches!(&value.kind, Kind::Name(name) if matches!(&**name, "None" | "undefined"))
}

/// Splits a text. In Python a number is the most cuts, in JavaScript the most parts.
fn split(
    text: &str,
    (name, python): (&str, bool),
    by: Option<&str>,
    most: Option<&Value>,
) -> Value {
    let list = |parts: Vec<&str>| Value::list(parts.into_iter().map(Value::text).collect());
    let parts: Vec<&str> = match (name, by) {
        ("splitlines", _) => text.lines().collect(),
        (_, None) => text.split_whitespace().collect(),
        (_, Some("")) => {
            return Value::list(
                text.chars().map(|c| Value::text(c.encode_utf8(&mut [0; 4]))).collect(),
            );
        }
        (_, Some(by)) => text.split(by).collect(),
    };
    let Some(most) = most.filter(|_| name != "splitlines") else { return list(parts) };
    let count = match most.kind {
        Kind::Number(number) => usize::try_from(number).ok(),
        _ => return Value::made("[]", vec![Value::unknown()], None),
    };
    let Some(count) = count.filter(|count| *count < parts.len()) else { return list(parts) };
    if !python {
        return list(parts.get(..count).unwrap_or_default().to_vec());
    }
    let cut: Vec<&str> = match (name, by) {
        ("rsplit", Some(by)) => {
            let mut cut: Vec<&str> = text.rsplitn(count + 1, by).collect();
            cut.reverse();
            cut
        }
        (_, Some(by)) => text.splitn(count + 1, by).collect(),
        (_, None) => return Value::made("[]", vec![Value::unknown()], None),
    };
    list(cut)
}

fn of_list(of: &Value, name: &str, arguments: &[Value], results: Option<&Vec<Value>>) -> Value {
    let loose = |items: Vec<Value>| match &of.kind {
        Kind::List(_) => Value::list(items),
        _ => Value::made("[]", items, None),
    };
    match (name, &of.kind) {
        ("join", _) => {
            let comma = Value::text(",");
            join(arguments.first().unwrap_or(&comma), of)
        }
        ("map" | "flatMap", _) => loose(results.cloned().unwrap_or_default()),
        ("filter" | "sort" | "flat" | "copy" | "values" | "toSorted", _) => {
            Value::made("[]", elements(of), None)
        }
        ("reverse" | "toReversed", Kind::List(items)) => {
            Value::list(items.iter().rev().cloned().collect())
        }
        ("concat", Kind::List(items)) => {
            let more = arguments.iter().flat_map(|more| match &more.kind {
                Kind::List(more) => more.as_ref().clone(),
                _ => vec![more.clone()],
            });
            Value::list(items.iter().cloned().chain(more).collect())
        }
        ("slice", Kind::List(_)) => {
            let bounds: Vec<Option<i64>> = arguments
                .iter()
                .map(|bound| match bound.kind {
                    Kind::Number(number) => Some(number),
                    _ => Some(i64::MIN),
                })
                .collect();
            slice(of, &bounds)
        }
        ("pop" | "shift" | "find" | "at" | "reduce" | "get", _) => Value::any(
            elements(of).into_iter().chain(results.cloned().unwrap_or_default()).collect(),
        ),
        ("toString" | "decode", _) => join(&Value::text(","), of),
        _ => Value::unknown(),
    }
}

/// Joins paths: an absolute one replaces those before it.
pub(crate) fn path_joined(parts: &[Value]) -> Value {
    let text = text_joined(parts);
    text.each(|text| Value::made("pathlib.Path", vec![text.clone()], None))
}

/// Joins the texts of paths.
pub(crate) fn text_joined(parts: &[Value]) -> Value {
    let mut whole = Value::text("");
    for part in parts {
        whole = Value::each_pair(&whole, part, |before, after| {
            let (before, after) = (before.in_text(), after.in_text());
            Value::text(&if before.is_empty() || after.starts_with('/') {
                after.to_string()
            } else {
                format!("{}/{after}", before.trim_end_matches('/'))
            })
        });
    }
    whole
}

fn parent(path: &str) -> &str {
    match path.trim_end_matches('/').rsplit_once('/') {
        Some(("", _)) => "/",
        Some((before, _)) => before,
        None => ".",
    }
}

/// Returns the folder of a path.
pub(crate) fn folder_of(path: &Value) -> Value {
    path.each(|path| path.as_text().map_or_else(Value::unknown, |path| Value::text(parent(&path))))
}

/// Returns the last name of a path.
pub(crate) fn name_of(path: &Value) -> Value {
    path.each(|path| {
        path.as_text().map_or_else(Value::unknown, |path| {
            Value::text(path.trim_end_matches('/').rsplit('/').next().unwrap_or(""))
        })
    })
}

/// Returns a property of a path object; none if it is a method.
pub(crate) fn path_property(parts: &[Value], name: &str) -> Option<Value> {
    let path = parts.first().cloned().unwrap_or_else(Value::unknown);
    match name {
        "parent" => Some(folder_of(&path).each(|text| path_joined(std::slice::from_ref(text)))),
        "name" => Some(name_of(&path)),
        "stem" | "suffix" | "parts" | "parents" | "anchor" => Some(Value::unknown()),
        _ => None,
    }
}
