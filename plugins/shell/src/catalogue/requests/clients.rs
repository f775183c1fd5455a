//! The calling conventions of HTTP clients.

use super::super::plan::Plan;
use super::Request;

/// Letters of curl that take a value.
pub(crate) const VALUED: &str = "AbcCdDeEFHKmoPQrtTuUwxXyYz";

/// Reads `curl` and `curlie`: flags give the method and the body.
pub(super) fn curl<'w>(words: &[&'w str], plan: &Plan) -> Request<'w> {
    let mut request = Request { targets: plan.operands.clone(), ..Request::default() };
    let mut asks = false;
    for Flag { name, value, at, .. } in options(words, VALUED) {
        match name {
            "-X" | "--request" => request.method = value.to_ascii_uppercase(),
            "-I" | "--head" => request.method = "HEAD".to_owned(),
            "-G" | "--get" => asks = true,
            "-T" | "--upload-file" => request.body = Some("@"),
            "--url" => request.targets.extend(at),
            _ if name == "-d"
                || name == "-F"
                || name == "--json"
                || name.starts_with("--data")
                || name.starts_with("--form") =>
            {
                request.body = Some(if is_file(name, value) { "@" } else { value });
            }
            _ => {}
        }
    }
    if asks && request.body != Some("@") {
        request.body = None;
    }
    request
}

/// Returns true if a value of these flags of curl names a file.
fn is_file(flag: &str, value: &str) -> bool {
    match flag {
        "--data-raw" | "--form-string" => false,
        "-F" | "--form" => value.contains("=@") || value.contains("=<"),
        "--data-urlencode" => value
            .find(['@', '='])
            .and_then(|at| value.get(at..))
            .is_some_and(|rest| rest.starts_with('@')),
        _ => value.starts_with('@'),
    }
}

/// Reads `gh api` and `glab api`: the path of the address, and fields that make a body.
pub(super) fn service<'w>(words: &[&'w str], plan: &Plan) -> Request<'w> {
    let mut request = Request {
        targets: plan.operands.first().copied().into_iter().collect(),
        ..Request::default()
    };
    for Flag { name, value, .. } in options(words, "XfFHqtp") {
        match name {
            "-X" | "--method" => request.method = value.to_ascii_uppercase(),
            "-f" | "-F" | "--field" | "--raw-field" | "--form"
                if request.body.is_none() || value.starts_with("query=") =>
            {
                request.body = Some(value);
            }
            "--input" => request.body = Some("@"),
            _ => {}
        }
    }
    request
}

/// Reads `wget`: long flags.
pub(super) fn wget<'w>(words: &[&'w str], plan: &Plan) -> Request<'w> {
    let mut request = Request { targets: plan.operands.clone(), ..Request::default() };
    for Flag { name, value, .. } in options(words, "") {
        match name {
            "--method" => request.method = value.to_ascii_uppercase(),
            "--post-data" | "--body-data" => request.body = Some(value),
            "--post-file" | "--body-file" => request.body = Some("@"),
            _ => {}
        }
    }
    request
}

/// Reads `http` and `xh`: the method in capitals, the address, then the items of the body.
pub(super) fn httpie<'w>(words: &[&'w str], plan: &Plan) -> Request<'w> {
    let mut operands =
        plan.operands.iter().filter_map(|at| words.get(*at).map(|word| (*at, *word))).peekable();
    let mut request = Request::default();
    if let Some((_, word)) = operands
        .next_if(|(_, word)| word.len() > 2 && word.bytes().all(|byte| byte.is_ascii_uppercase()))
    {
        request.method = word.to_owned();
    }
    request.targets.extend(operands.next().map(|(at, _)| at));
    for (_, item) in operands {
        let split = item.find(['=', ':', '@']).and_then(|at| item.get(at..)).unwrap_or("");
        if split.starts_with('@') || split.starts_with("=@") || split.starts_with(":=@") {
            request.body = Some("@");
        } else if (split.starts_with('=') && !split.starts_with("==")) || split.starts_with(":=") {
            request.body = Some(request.body.unwrap_or(item));
        }
    }
    if let Some(raw) = options(words, "").into_iter().find(|flag| flag.name == "--raw") {
        request.body = Some(raw.value);
    }
    request
}

/// Reads `grpcurl`: the address, then `package.Service/Method`, which determines the effect.
pub(super) fn grpc<'w>(words: &[&'w str], plan: &Plan) -> Request<'w> {
    let body =
        options(words, "d").into_iter().find(|flag| flag.name == "-d").map(|flag| flag.value);
    let method = plan
        .operands
        .iter()
        .filter_map(|at| words.get(*at))
        .find_map(|word| word.rsplit_once('/').map(|(_, method)| method));
    let said = match method.map(super::verbs::of_name) {
        None | Some(super::Does::Look) => "GET",
        Some(super::Does::Destroy | super::Does::DestroyAll) => "DELETE",
        Some(_) => "POST",
    };
    Request {
        method: said.to_owned(),
        body,
        targets: plan.operands.first().copied().into_iter().collect(),
    }
}

/// Reads `Invoke-RestMethod` and `Invoke-WebRequest`: flags in any case, which may be abbreviated.
pub(super) fn powershell<'w>(words: &[&'w str], plan: &Plan) -> Request<'w> {
    let mut request = Request { targets: plan.operands.clone(), ..Request::default() };
    for (at, word) in words.iter().enumerate() {
        let Some(flag) =
            word.strip_prefix('-').map(str::to_ascii_lowercase).filter(|flag| flag.len() > 1)
        else {
            continue;
        };
        let value = words.get(at + 1).copied().unwrap_or("");
        match flag.as_str() {
            "me" | "met" | "meth" | "metho" | "method" | "custommethod" => {
                request.method = value.to_ascii_uppercase()
            }
            "bo" | "bod" | "body" => request.body = Some(value),
            "inf" | "infile" | "form" => request.body = Some("@"),
            "ur" | "uri" => request.targets.push(at + 1),
            _ => continue,
        }
        request.targets.retain(|target| *target != at + 1 || flag.starts_with("ur"));
    }
    request.targets.dedup();
    request
}

/// A flag with the word after it.
pub(crate) struct Flag<'w> {
    /// With its dashes; of the short ones those that matter here, `-` for all others.
    pub(crate) name: &'w str,
    /// Its value, or the word in the position of one.
    pub(crate) value: &'w str,
    /// The word that is the value, if it is a separate word.
    pub(crate) at: Option<usize>,
    /// The word of the flag.
    pub(crate) word: usize,
}

/// Returns the flags of a call: letters may be joined (`-sXDELETE`), and `valued` names those that
/// take a value.
pub(crate) fn options<'w>(words: &[&'w str], valued: &str) -> Vec<Flag<'w>> {
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let next = words.get(at + 1).copied().unwrap_or("");
        if *word == "--" {
            break;
        }
        if word.starts_with("--") {
            match word.split_once('=') {
                Some((name, value)) => {
                    found.push(Flag { name: spelled_out(name), value, at: None, word: at })
                }
                None => found.push(Flag {
                    name: spelled_out(word),
                    value: next,
                    at: Some(at + 1),
                    word: at,
                }),
            }
            continue;
        }
        for (offset, letter) in
            word.char_indices().skip(1).take_while(|_| word.starts_with('-')).take(16)
        {
            let end = offset + letter.len_utf8();
            let rest = word.get(end..).unwrap_or("");
            let Some(name) = short(letter) else { break };
            if valued.contains(letter) {
                found.push(match rest {
                    "" => Flag { name, value: next, at: Some(at + 1), word: at },
                    rest => Flag { name, value: rest.trim_start_matches('='), at: None, word: at },
                });
                break;
            }
            found.push(Flag { name, value: "", at: None, word: at });
        }
    }
    found
}

/// Long flags that matter here, the ones that others begin with first.
const LONG: &[&str] = &[
    "--body-data",
    "--body-file",
    "--data",
    "--data-binary",
    "--data-urlencode",
    "--field",
    "--form",
    "--head",
    "--input",
    "--json",
    "--method",
    "--post-data",
    "--post-file",
    "--raw-field",
    "--request",
    "--upload-file",
    "--url",
];

/// Returns the long flag that an abbreviation of at least three letters stands for.
fn spelled_out(flag: &str) -> &str {
    let begins = |long: &&&str| long.starts_with(flag) && flag.len() > 4;
    LONG.iter().find(begins).copied().unwrap_or(flag)
}

/// Returns the name of a short flag that matters here.
fn short(letter: char) -> Option<&'static str> {
    Some(match letter {
        'X' => "-X",
        'd' => "-d",
        'F' => "-F",
        'T' => "-T",
        'f' => "-f",
        'G' => "-G",
        'I' => "-I",
        'K' => "-K",
        letter if letter.is_ascii_alphanumeric() || letter == '#' => "-",
        _ => return None,
    })
}
