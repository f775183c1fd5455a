//! Decides if an HTTP client writes the fetched content to its standard output, or into files
//! alone.
//!
//! Anything that is not understood counts as written: only a call whose every flag about output is
//! known to lead elsewhere is silent.

use super::super::plan::Plan;
use super::clients::VALUED;
use crate::places;

/// Returns true if this call may print some of the fetched content.
pub(super) fn prints(item: &str, words: &[&str], plan: &Plan) -> bool {
    let known = match item {
        "request-curl" => curl(words),
        "request-wget" => wget(words),
        "request-powershell" => powershell(words),
        _ => None,
    };
    known.unwrap_or(true)
        || plan
            .operands
            .iter()
            .filter_map(|at| words.get(*at))
            .any(|word| word.contains('\u{fffd}'))
}

/// An address and where its content goes, in the order in which curl pairs them.
#[derive(Clone, Copy, Default)]
struct Node {
    address: bool,
    placed: bool,
    /// True if it goes into a file.
    kept: bool,
}

/// `curl`: each `-o` or `-O` belongs to the next address that has none, `--remote-name-all` to
/// those that come after it, and `--next` starts over. None if a flag may print something that
/// these flags do not control.
fn curl(words: &[&str]) -> Option<bool> {
    /// Letters and names that print something else of the answer, or that read flags from
    /// elsewhere.
    const TELLING: &str = "DwK:";
    const TELLING_NAMES: &[&str] = &[
        "--config",
        "--dump-header",
        "--libcurl",
        "--stderr",
        "--trace",
        "--trace-ascii",
        "--write-out",
    ];
    let mut nodes: Vec<Node> = Vec::new();
    let (mut all, mut only_addresses, mut printed) = (false, false, false);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if only_addresses || !word.starts_with('-') || word.len() == 1 {
            address(&mut nodes, all);
        } else if *word == "--" {
            only_addresses = true;
        } else if let Some(name) = word.strip_prefix("--") {
            match name {
                "next" if !nodes.iter().any(|node| node.address) => return Some(false),
                "next" => {
                    printed |= shown(&nodes);
                    nodes.clear();
                    all = false;
                }
                "url" => {
                    address(&mut nodes, all);
                    words.next();
                }
                "output" => place(&mut nodes, all, is_file(words.next()?)),
                "remote-name" => place(&mut nodes, all, true),
                "no-remote-name" => place(&mut nodes, all, false),
                "remote-name-all" => all = true,
                "no-remote-name-all" => all = false,
                _ if TELLING_NAMES.contains(word) => return None,
                _ if takes_value(word) => drop(words.next()),
                _ => {}
            }
        } else {
            for (at, letter) in word.char_indices().skip(1) {
                let rest = word.get(at + letter.len_utf8()..).unwrap_or("");
                match letter {
                    _ if TELLING.contains(letter) => return None,
                    'O' => place(&mut nodes, all, true),
                    'o' => place(
                        &mut nodes,
                        all,
                        is_file(if rest.is_empty() { words.next()? } else { rest }),
                    ),
                    _ if VALUED.contains(letter) && rest.is_empty() => drop(words.next()),
                    _ => {}
                }
                if VALUED.contains(letter) {
                    break;
                }
            }
        }
    }
    Some(printed || shown(&nodes) || !nodes.iter().any(|node| node.address))
}

/// Returns true for the common long flags of curl whose value is a word of its own: a value that is
/// mistaken for an address counts as printed, which errs on the safe side.
fn takes_value(flag: &str) -> bool {
    const FLAGS: &[&str] = &[
        "--cacert",
        "--cert",
        "--connect-timeout",
        "--cookie",
        "--cookie-jar",
        "--data",
        "--data-binary",
        "--data-raw",
        "--data-urlencode",
        "--form",
        "--header",
        "--json",
        "--key",
        "--limit-rate",
        "--max-redirs",
        "--max-time",
        "--output-dir",
        "--proxy",
        "--range",
        "--referer",
        "--request",
        "--resolve",
        "--retry",
        "--retry-delay",
        "--user",
        "--user-agent",
    ];
    FLAGS.contains(&flag)
}

/// Changes the first that `fits`, or a new one at the end.
fn change(
    nodes: &mut Vec<Node>,
    all: bool,
    fits: impl Fn(&Node) -> bool,
    change: impl FnOnce(&mut Node),
) {
    if !nodes.iter().any(&fits) {
        nodes.push(Node { kept: all, ..Node::default() });
    }
    nodes.iter_mut().find(|node| fits(node)).map(change);
}

fn address(nodes: &mut Vec<Node>, all: bool) {
    change(nodes, all, |node| !node.address, |node| node.address = true);
}

fn place(nodes: &mut Vec<Node>, all: bool, kept: bool) {
    change(nodes, all, |node| !node.placed, |node| (node.placed, node.kept) = (true, kept));
}

fn shown(nodes: &[Node]) -> bool {
    nodes.iter().any(|node| node.address && !node.kept)
}

/// Returns true if the name is surely a file's.
fn is_file(name: &str) -> bool {
    !name.is_empty()
        && name != "-"
        && !name.contains('\u{fffd}')
        && !places::is_stream(name)
        && !name.starts_with("/proc/")
}

/// `wget`: into files, unless one of them is the standard output; with `--spider` nothing is
/// fetched at all.
fn wget<'w>(words: &[&'w str]) -> Option<bool> {
    if words.contains(&"--spider") {
        return Some(false);
    }
    let long = words
        .iter()
        .any(|word| word.starts_with("--output-document") || word.starts_with("--output-file"));
    let to_output = |(at, word): (usize, &&'w str)| -> Option<&'w str> {
        let is_short = word.starts_with('-') && !word.starts_with("--");
        let (_, rest) = word.split_once(['O', 'o', 'a']).filter(|_| is_short)?;
        Some(if rest.is_empty() { words.get(at + 1).copied().unwrap_or("") } else { rest })
    };
    Some(long || words.iter().enumerate().filter_map(to_output).any(|name| !is_file(name)))
}

/// `Invoke-WebRequest -OutFile`: a saved response is not passed on without `-PassThru`.
fn powershell(words: &[&str]) -> Option<bool> {
    let is = |word: &str, flag: &str, least: usize| {
        let given = word.strip_prefix('-').unwrap_or("");
        given.len() >= least
            && flag.get(..given.len()).is_some_and(|start| start.eq_ignore_ascii_case(given))
    };
    let at = words.iter().position(|word| is(word, "outfile", 4))?;
    let file = words.get(at + 1)?;
    Some(!is_file(file) || words.iter().any(|word| is(word, "passthru", 1)))
}
