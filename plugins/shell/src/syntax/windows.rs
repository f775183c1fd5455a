//! Words as the shells of Windows write them: a backslash is a part of a path there, a backquote
//! escapes, and `$env:NAME` is a variable. These commands are recognised by their names.

use super::cursor::Parser;
use super::tree::{Part, Word};
use super::words::literal;

/// Verbs that cmdlets begin with.
#[rustfmt::skip]
const VERBS: &[&str] = &[
    "add", "backup", "clear", "compare", "compress", "connect", "convert", "convertfrom", "convertto", "copy", "debug", "disable",
    "disconnect", "dismount", "enable", "enter", "exit", "expand", "export", "find", "foreach", "format", "get", "grant", "group",
    "import", "install", "invoke", "join", "lock", "measure", "mount", "move", "new", "out", "pop", "protect", "publish", "push", "read",
    "receive", "register", "remove", "rename", "repair", "reset", "resolve", "restart", "restore", "resume", "revoke", "save", "search",
    "select", "send", "set", "show", "sort", "split", "start", "stop", "suspend", "tee", "test", "unblock", "uninstall", "unlock",
    "unprotect", "unregister", "update", "wait", "where", "write",
];

/// Builtins of `cmd`, aliases of PowerShell and programs that are on Windows alone.
#[rustfmt::skip]
const NAMES: &[&str] = &[
    "attrib", "bcdedit", "bitsadmin", "certutil", "cipher", "copy", "cscript", "del", "erase", "gc", "gci", "iex", "icacls", "irm", "iwr",
    "md", "mshta", "netsh", "rd", "reg", "regsvr32", "ren", "ri", "robocopy", "rundll32", "schtasks", "takeown", "taskkill", "vssadmin",
    "wbadmin", "wevtutil", "wmic", "wscript", "xcopy",
];

/// Returns true for a command of PowerShell or `cmd`.
fn is_windows(name: &str) -> bool {
    let name = name.strip_suffix(".exe").unwrap_or(name);
    if let Some((verb, noun)) = name.split_once('-') {
        let capital = |part: &str| part.starts_with(|c: char| c.is_ascii_uppercase());
        let known = VERBS.iter().any(|known| known.eq_ignore_ascii_case(verb));
        return known
            && noun.bytes().all(|byte| byte.is_ascii_alphanumeric())
            && (capital(noun) || CMDLETS.contains(&name));
    }
    NAMES.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// Cmdlets that people write in small letters.
const CMDLETS: &[&str] = &[
    "add-content",
    "copy-item",
    "get-childitem",
    "get-content",
    "invoke-expression",
    "invoke-restmethod",
    "invoke-webrequest",
    "move-item",
    "new-item",
    "out-file",
    "remove-item",
    "set-content",
    "start-process",
    "stop-process",
];

/// Returns true if the text so far is the start of a path with a drive, or of a share.
pub(super) fn is_drive(parts: &[Part]) -> bool {
    let [Part::Text { text, quoted: false }] = parts else { return false };
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|byte| byte.is_ascii_alphabetic())
        && bytes.next() == Some(b':')
        && (text.len() == 2 || text.contains('\\'))
}

impl Parser<'_> {
    /// Reads the syntax that only words of a Windows command have; false if this position has none
    /// of it.
    pub(super) fn windows_part(&mut self, parts: &mut Vec<Part>) -> bool {
        match self.peek() {
            Some(b'\\') => {
                self.pos += 1;
                literal(parts, "\\", false);
            }
            Some(b'`') => {
                self.pos += 1;
                if !self.take("\n") && self.peek().is_some() {
                    let escaped = self.character();
                    literal(parts, escaped, true);
                }
            }
            Some(b'{') if parts.is_empty() => self.block(parts),
            Some(b'(') if !parts.is_empty() => self.brackets(parts),
            Some(b'(') => self.expression(parts),
            _ => return false,
        }
        true
    }

    /// Reads `(COMMAND)`, or an object on which methods are called: of those, only downloads are
    /// reported.
    fn expression(&mut self, parts: &mut Vec<Part>) {
        let start = self.pos;
        self.pos += 1;
        let inside = self.balanced(b'(', b')').to_owned();
        while self.take(".") {
            self.run(|byte| !(byte.is_ascii_alphanumeric() || byte == b'_'));
            if self.take("(") {
                self.balanced(b'(', b')');
            }
        }
        let whole = self.since(start).to_owned();
        let downloads =
            ["DownloadString(", "DownloadData(", "DownloadFile(", "OpenRead(", "GetStringAsync("];
        let text = match downloads.iter().find_map(|call| whole.split_once(call)) {
            Some((_, arguments)) => {
                let address = arguments.trim_start_matches(['\'', '"', '(', ' ']);
                let length = address.find(['\'', '"', ')']).unwrap_or(address.len());
                format!("Invoke-WebRequest '{}'", address.get(..length).unwrap_or(""))
            }
            None => inside,
        };
        if self.enter() {
            let span = self.span(start);
            let script = self.inner(&text, span);
            self.leave();
            parts.push(Part::Substitution { script, quoted: true });
        }
    }

    /// Reads a script block, as one text that the command may run.
    fn block(&mut self, parts: &mut Vec<Part>) {
        self.pos += 1;
        let text = self.balanced(b'{', b'}');
        literal(parts, text, true);
    }

    /// Reads the arguments of a method: text.
    fn brackets(&mut self, parts: &mut Vec<Part>) {
        let start = self.pos;
        self.pos += 1;
        self.balanced(b'(', b')');
        let text = self.since(start);
        literal(parts, text, true);
    }

    /// Returns the text up to the bracket that closes the consumed one; the closing bracket is
    /// consumed too.
    fn balanced(&mut self, open: u8, close: u8) -> &str {
        let start = self.pos;
        let mut depth = 1_usize;
        while let Some(byte) = self.peek() {
            depth = depth + usize::from(byte == open) - usize::from(byte == close);
            if depth == 0 {
                break;
            }
            self.pos += 1;
        }
        let end = self.pos;
        if !self.take(if close == b'}' { "}" } else { ")" }) {
            self.gap("a bracket without its end");
        }
        self.text.get(start..end).unwrap_or("")
    }

    /// Reads `$env:NAME`: the name of the variable as other shells have it.
    pub(super) fn environment_drive(&mut self) -> Option<String> {
        let rest = self.text.get(self.pos + 1..self.end)?;
        let name = rest
            .get(..4)
            .filter(|drive| drive.eq_ignore_ascii_case("env:"))
            .and_then(|_| rest.get(4..))?;
        let length =
            name.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
        let name = name.get(..length).filter(|name| !name.is_empty())?.to_ascii_uppercase();
        self.pos += 5 + length;
        Some(if name == "USERPROFILE" { "HOME".to_owned() } else { name })
    }
}

/// Returns true if the command that the word begins takes its words as Windows writes them.
pub(super) fn begins_windows(word: &Word) -> bool {
    word.bare().is_some_and(is_windows)
}
