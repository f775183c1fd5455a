//! Commands in JSON: scripts of packages, tasks of editors, servers that a client starts. Comments
//! and trailing commas are allowed, as editors write them.

use super::{PARTS, Part, joined};

/// The maximum nesting, and the maximum number of values.
const DEPTH: usize = 32;
const VALUES: usize = 8192;

/// Members whose texts are all commands.
const HOLDERS: &[&str] =
    &["gitHooks", "hooks", "husky", "lint-staged", "scripts", "simple-git-hooks", "tasks"];
/// Members of those that are mere text.
const TEXTS: &[&str] = &[
    "cwd",
    "description",
    "detail",
    "group",
    "isBackground",
    "kind",
    "label",
    "problemMatcher",
    "runOn",
    "type",
    "version",
];
/// Members that are a command themselves.
const COMMANDS: &[&str] = &[
    "cmd",
    "command",
    "commands",
    "entrypoint",
    "entry",
    "run",
    "script",
    "before_script",
    "after_script",
];

/// A value, as far as it matters.
enum Node {
    Text(String),
    List(Vec<Node>),
    Map(Vec<(String, Node)>),
    Other,
}

/// Returns the commands in a text, and true if there is more than is read.
pub(super) fn parts(text: &str) -> (Vec<Part>, bool) {
    let text = text.trim_start_matches('\u{feff}');
    let mut reader = Reader { rest: text, values: 0, over: false };
    // A piece of such a file, as an edit names it: its members alone.
    let whole = matches!(reader.peek(), Some('{' | '['));
    let wrapped = format!("{{{text}}}");
    if !whole {
        reader.rest = &wrapped;
    }
    let (mut found, mut over) = (Vec::new(), false);
    match reader.value(0) {
        // A piece does not show the member that it belongs to, so each of its texts may be a
        // command.
        Some(node) => commands(&node, !whole, &mut found),
        None => over = reader.over || whole && !text.trim().is_empty(),
    }
    over |= reader.over || found.len() > PARTS;
    found.truncate(PARTS);
    (found, over)
}

/// Collects the commands in a value; in some members every text is one.
fn commands(node: &Node, all: bool, found: &mut Vec<Part>) {
    match node {
        Node::Text(text) if all => found.extend(command(text)),
        Node::Text(_) | Node::Other => {}
        Node::List(items) => items.iter().for_each(|item| commands(item, all, found)),
        Node::Map(members) => {
            let member = |name: &str| members.iter().find(|(key, _)| key == name).map(|(_, v)| v);
            let program = member("command").or_else(|| member("path"));
            let program = program.filter(|_| member("args").is_some() || member("path").is_some());
            if let Some(Node::Text(program)) = program {
                let mut words = vec![program.as_str()];
                if let Some(Node::List(args)) = member("args") {
                    words.extend(args.iter().filter_map(as_text));
                }
                // An editor hands a command with blanks to a shell.
                let rest = joined(words.iter().skip(1).copied());
                found.push(Part::shell(format!("{program} {rest}")));
            }
            for (key, value) in members {
                if TEXTS.contains(&key.as_str()) && !matches!(value, Node::Map(_)) {
                    continue;
                }
                let named = COMMANDS.contains(&key.as_str()) || key.ends_with("Command");
                match value {
                    Node::List(items) if named && items.iter().all(|i| as_text(i).is_some()) => {
                        found.push(Part::shell(joined(items.iter().filter_map(as_text))));
                        commands(value, true, found);
                    }
                    _ => commands(value, all || named || HOLDERS.contains(&key.as_str()), found),
                }
            }
        }
    }
}

const fn as_text(node: &Node) -> Option<&str> {
    match node {
        Node::Text(text) => Some(text.as_str()),
        _ => None,
    }
}

/// Returns the command line of a script. `Class::method` is code of a package, `@name` another
/// script.
fn command(text: &str) -> Option<Part> {
    match text.strip_prefix('@') {
        Some(line) if line.starts_with("php ") => Some(Part::shell(line)),
        Some(_) => None,
        None if text.contains("::") && !text.contains(' ') => None,
        None => Some(Part::shell(text)),
    }
}

/// Reads values one after the other.
struct Reader<'t> {
    rest: &'t str,
    values: usize,
    over: bool,
}

impl Reader<'_> {
    fn peek(&mut self) -> Option<char> {
        loop {
            self.rest = self.rest.trim_start();
            if self.rest.starts_with("//") {
                self.rest = self.rest.split_once('\n').map_or("", |(_, rest)| rest);
            } else if let Some(comment) = self.rest.strip_prefix("/*") {
                self.rest = comment.split_once("*/").map_or("", |(_, rest)| rest);
            } else {
                return self.rest.chars().next();
            }
        }
    }

    fn take(&mut self, sign: char) -> Option<()> {
        let found = self.peek()?;
        self.rest = self.rest.strip_prefix(sign).filter(|_| found == sign)?;
        Some(())
    }

    fn value(&mut self, depth: usize) -> Option<Node> {
        self.values += 1;
        if depth > DEPTH || self.values > VALUES {
            self.over = true;
            return None;
        }
        match self.peek()? {
            '"' => self.text().map(Node::Text),
            '{' => {
                self.take('{')?;
                let mut members = Vec::new();
                while self.peek()? != '}' {
                    let key = self.text()?;
                    self.take(':')?;
                    members.push((key, self.value(depth + 1)?));
                    if self.peek()? == ',' {
                        self.take(',')?;
                    }
                }
                self.take('}')?;
                Some(Node::Map(members))
            }
            '[' => {
                self.take('[')?;
                let mut items = Vec::new();
                while self.peek()? != ']' {
                    items.push(self.value(depth + 1)?);
                    if self.peek()? == ',' {
                        self.take(',')?;
                    }
                }
                self.take(']')?;
                Some(Node::List(items))
            }
            _ => {
                let end = self.rest.find([',', '}', ']', '\n'])?;
                self.rest = self.rest.get(end..)?;
                // A sign that begins no value would be looked at for ever.
                (end > 0).then_some(Node::Other)
            }
        }
    }

    fn text(&mut self) -> Option<String> {
        self.take('"')?;
        let mut text = String::new();
        loop {
            let end = self.rest.find(['"', '\\'])?;
            text.push_str(self.rest.get(..end)?);
            let sign = self.rest.get(end..)?.chars().next()?;
            self.rest = self.rest.get(end + 1..)?;
            if sign == '"' {
                return Some(text);
            }
            let escape = self.rest.chars().next()?;
            self.rest = self.rest.get(escape.len_utf8()..)?;
            text.push(match escape {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                'b' | 'f' => ' ',
                'u' => {
                    let code = u32::from_str_radix(self.rest.get(..4)?, 16).ok()?;
                    self.rest = self.rest.get(4..)?;
                    char::from_u32(code).unwrap_or('\u{fffd}')
                }
                other => other,
            });
        }
    }
}
