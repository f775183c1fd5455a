//! Code of other languages on the command line: the literal calls in it that delete, write, start
//! programs or reach the network. It is no parser: what a call's arguments are is told only where they
//! are literals, and what is in comments and texts does not count.

use super::expand::Field;
use super::feed::Source;
use super::{Setting, Walker};
use crate::syntax::unescape;
use crate::types::EffectKind;

/// Longest list of arguments that is looked at, in bytes.
const ARGUMENTS: usize = 2048;
/// Most calls that are looked at.
const CALLS: usize = 256;

/// What a call does with its first literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Does {
    Delete,
    DeleteTree,
    Write,
    /// Makes a folder.
    Make,
    /// From the first to the second.
    Move,
    Copy,
    /// A link to the first at the second.
    Link,
    /// `open` and the like: the mode tells.
    Open,
    Read,
    Shell,
    Network,
    /// Runs code that is put together when it runs.
    Dynamic,
    Stop,
}

const PYTHON: &[(&str, Does)] = &[
    ("os.remove(", Does::Delete),
    ("os.unlink(", Does::Delete),
    (".unlink(", Does::Delete),
    ("os.rmdir(", Does::Delete),
    (".rmdir(", Does::Delete),
    ("shutil.rmtree(", Does::DeleteTree),
    ("rmtree(", Does::DeleteTree),
    ("os.removedirs(", Does::Delete),
    ("os.truncate(", Does::Write),
    ("os.system(", Does::Shell),
    ("os.popen(", Does::Shell),
    ("subprocess.run(", Does::Shell),
    ("subprocess.call(", Does::Shell),
    ("subprocess.Popen(", Does::Shell),
    ("subprocess.check_output(", Does::Shell),
    ("subprocess.check_call(", Does::Shell),
    ("subprocess.getoutput(", Does::Shell),
    ("subprocess.getstatusoutput(", Does::Shell),
    ("check_output(", Does::Shell),
    ("Popen(", Does::Shell),
    ("os.execv(", Does::Shell),
    ("os.execvp(", Does::Shell),
    ("os.execl(", Does::Shell),
    ("os.execlp(", Does::Shell),
    ("os.spawnl(", Does::Shell),
    ("pty.spawn(", Does::Shell),
    ("urlopen(", Does::Network),
    ("urlretrieve(", Does::Network),
    ("requests.get(", Does::Network),
    ("requests.post(", Does::Network),
    ("requests.put(", Does::Network),
    ("requests.delete(", Does::Network),
    ("requests.request(", Does::Network),
    ("httpx.get(", Does::Network),
    ("httpx.post(", Does::Network),
    (".connect((", Does::Network),
    ("socket.create_connection((", Does::Network),
    ("HTTPSConnection(", Does::Network),
    ("HTTPConnection(", Does::Network),
    ("smtplib.SMTP(", Does::Network),
    ("exec(", Does::Dynamic),
    ("eval(", Does::Dynamic),
    ("__import__(", Does::Dynamic),
    ("getattr(os", Does::Dynamic),
    ("open(", Does::Open),
    (".write_text(", Does::Write),
    (".write_bytes(", Does::Write),
    ("shutil.move(", Does::Move),
    ("shutil.copy(", Does::Copy),
    ("shutil.copy2(", Does::Copy),
    ("shutil.copyfile(", Does::Copy),
    ("shutil.copytree(", Does::Copy),
    ("os.open(", Does::Open),
    ("os.rename(", Does::Move),
    ("os.renames(", Does::Move),
    ("os.replace(", Does::Move),
    ("os.link(", Does::Link),
    ("os.symlink(", Does::Link),
    ("os.chmod(", Does::Write),
    ("os.chown(", Does::Write),
    ("os.makedirs(", Does::Make),
    ("os.mkdir(", Does::Make),
    (".read_text(", Does::Read),
    ("os.kill(", Does::Stop),
];

const NODE: &[(&str, Does)] = &[
    ("rmSync(", Does::DeleteTree),
    ("fs.rm(", Does::DeleteTree),
    ("promises.rm(", Does::DeleteTree),
    ("rimraf(", Does::DeleteTree),
    ("rimrafSync(", Does::DeleteTree),
    ("unlinkSync(", Does::Delete),
    (".unlink(", Does::Delete),
    ("rmdirSync(", Does::Delete),
    (".rmdir(", Does::Delete),
    ("removeSync(", Does::DeleteTree),
    ("Deno.remove(", Does::DeleteTree),
    ("truncateSync(", Does::Write),
    ("execSync(", Does::Shell),
    ("spawnSync(", Does::Shell),
    ("execFileSync(", Does::Shell),
    ("execFile(", Does::Shell),
    ("spawn(", Does::Shell),
    ("child_process').exec(", Does::Shell),
    ("require('child_process').exec(", Does::Shell),
    ("cp.exec(", Does::Shell),
    ("child_process.exec(", Does::Shell),
    ("writeFileSync(", Does::Write),
    ("writeFile(", Does::Write),
    ("appendFileSync(", Does::Write),
    ("renameSync(", Does::Move),
    ("copyFileSync(", Does::Copy),
    ("cpSync(", Does::Copy),
    ("linkSync(", Does::Link),
    ("symlinkSync(", Does::Link),
    ("createWriteStream(", Does::Write),
    ("Bun.write(", Does::Write),
    ("Deno.writeTextFile(", Does::Write),
    ("mkdirSync(", Does::Make),
    ("chmodSync(", Does::Write),
    ("chownSync(", Does::Write),
    ("readFileSync(", Does::Read),
    ("fetch(", Does::Network),
    ("http.get(", Does::Network),
    ("https.get(", Does::Network),
    ("http.request(", Does::Network),
    ("https.request(", Does::Network),
    ("axios.get(", Does::Network),
    ("axios.post(", Does::Network),
    ("net.connect(", Does::Network),
    ("eval(", Does::Dynamic),
    ("new Function(", Does::Dynamic),
    ("process.kill(", Does::Stop),
];

const SCRIPT: &[(&str, Does)] = &[
    ("unlink(", Does::Delete),
    ("unlink ", Does::Delete),
    ("rmdir(", Does::Delete),
    ("rmtree(", Does::DeleteTree),
    ("remove_tree(", Does::DeleteTree),
    ("File.delete(", Does::Delete),
    ("File.unlink(", Does::Delete),
    ("FileUtils.rm_rf(", Does::DeleteTree),
    ("FileUtils.rm_rf ", Does::DeleteTree),
    ("FileUtils.rm_r(", Does::DeleteTree),
    ("FileUtils.rm(", Does::Delete),
    ("FileUtils.remove_dir(", Does::DeleteTree),
    ("FileUtils.remove_entry(", Does::DeleteTree),
    ("FileUtils.rm ", Does::Delete),
    ("Dir.rmdir(", Does::Delete),
    ("Dir.delete(", Does::Delete),
    ("os.remove(", Does::Delete),
    ("system(", Does::Shell),
    ("system ", Does::Shell),
    ("exec(", Does::Shell),
    ("exec ", Does::Shell),
    ("os.execute(", Does::Shell),
    ("io.popen(", Does::Shell),
    ("shell_exec(", Does::Shell),
    ("passthru(", Does::Shell),
    ("popen(", Does::Shell),
    ("proc_open(", Does::Shell),
    ("do shell script ", Does::Shell),
    ("qx(", Does::Shell),
    ("Open3.capture2(", Does::Shell),
    ("IO.popen(", Does::Shell),
    ("spawn(", Does::Shell),
    ("file_put_contents(", Does::Write),
    ("File.write(", Does::Write),
    ("fopen(", Does::Open),
    ("Net::HTTP.get(", Does::Network),
    ("URI.open(", Does::Network),
    ("TCPSocket.new(", Does::Network),
    ("TCPSocket.open(", Does::Network),
    ("IO::Socket::INET->new(", Does::Network),
    ("fsockopen(", Does::Network),
    ("LWP::Simple::get(", Does::Network),
    ("file_get_contents(", Does::Open),
    ("eval(", Does::Dynamic),
    ("eval ", Does::Dynamic),
    ("unpack(", Does::Dynamic),
    ("base64_decode(", Does::Dynamic),
];

impl Walker<'_> {
    /// Notes what a program's text does, as far as its literal calls tell.
    pub(super) fn code(&mut self, language: &str, code: &Field, command: Option<u32>, setting: &Setting<'_>) -> super::Feed {
        self.spend(code.text.len());
        if self.work == 0 || self.depth >= crate::syntax::DEPTH {
            self.out.gap("more text than is read");
            return super::Feed::default();
        }
        let table = match language {
            "python" => PYTHON,
            "node" => NODE,
            "powershell" | "osascript" => {
                self.plain(EffectKind::ProcessStart, language, false, command, setting);
                SCRIPT
            }
            _ => SCRIPT,
        };
        let masked = mask(&code.text, language);
        let connects = ["socket", "TCPSocket", "net.connect", "fsockopen", "net.Socket"].iter().any(|call| masked.contains(call));
        if connects && ["/bin/sh", "/bin/bash", "cmd.exe", "pty.spawn", "dup2"].iter().any(|mark| code.text.contains(mark)) {
            self.out.form("remote-shell", command);
            self.plain(EffectKind::UnseenCode, "", false, command, setting);
        }
        let mut left = CALLS;
        for (call, does) in table {
            for (at, _) in masked.match_indices(call) {
                if left == 0 {
                    self.out.gap("more calls than are looked at");
                    return super::Feed::default();
                }
                left -= 1;
                if !is_word_before(&masked, at, call) {
                    let from = at + call.len();
                    let arguments = code.text.get(from..).map_or("", |rest| clip(rest, ARGUMENTS));
                    self.inline_call(*does, arguments, &code.text, code, command, setting);
                }
            }
        }
        self.quoted_commands(language, code, &masked, setting);
        super::Feed::default()
    }

    fn inline_call(&mut self, does: Does, arguments: &str, whole: &str, code: &Field, command: Option<u32>, setting: &Setting<'_>) {
        let literals = literals(arguments);
        let first = literals.first().map(String::as_str);
        let word = |text: Option<&str>| Field::plain(text.unwrap_or("\u{fffd}"), code.span);
        match does {
            Does::Delete => {
                self.file(EffectKind::FileDelete, &word(first.or(path_before(whole, arguments).as_deref())), false, command, setting)
            }
            Does::DeleteTree => {
                self.out.form("recursive-delete", command);
                self.file(EffectKind::FileDelete, &word(first), true, command, setting);
            }
            Does::Write => self.file(EffectKind::FileModify, &word(first), false, command, setting),
            Does::Make => self.file(EffectKind::FileCreate, &word(first), false, command, setting),
            Does::Move | Does::Copy | Does::Link => {
                match does {
                    Does::Move => self.file(EffectKind::FileModify, &word(first), true, command, setting),
                    Does::Copy => self.file(EffectKind::FileRead, &word(first), false, command, setting),
                    _ => {}
                }
                self.file(EffectKind::FileModify, &word(literals.get(1).map(String::as_str)), false, command, setting);
            }
            Does::Read => self.file(EffectKind::FileRead, &word(first), false, command, setting),
            Does::Open => {
                if first.is_some_and(|text| text.contains("://")) {
                    return self.network(&word(first), command, setting);
                }
                let own = arguments.split(')').next().unwrap_or("");
                let flags = ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC", "O_APPEND"].iter().any(|flag| own.contains(flag));
                let writes = flags || literals.iter().skip(1).any(|mode| mode.len() <= 3 && mode.contains(['w', 'a', 'x', '+']));
                self.file(if writes { EffectKind::FileModify } else { EffectKind::FileRead }, &word(first), false, command, setting);
            }
            Does::Network => self.network(&word(first), command, setting),
            Does::Stop => self.plain(EffectKind::ProcessStop, "", false, command, setting),
            Does::Dynamic => {
                let hidden = ["b64decode", "fromhex", "atob(", "base64", "unhexlify", "codecs.decode", "zlib", "chr("]
                    .iter()
                    .any(|mark| arguments.contains(mark) || whole.contains(mark));
                let fetched = ["urlopen", "requests.", "fetch(", "http.get", "Net::HTTP", "file_get_contents"]
                    .iter()
                    .any(|mark| whole.contains(mark));
                match (hidden, fetched, first) {
                    (_, true, _) => self.unseen(Source::Downloaded, command, setting),
                    (true, ..) => self.unseen(Source::Decoded, command, setting),
                    _ => self.plain(EffectKind::ProcessStart, "", false, command, setting),
                }
            }
            Does::Shell => self.started(arguments, &literals, code, command, setting),
        }
    }

    /// A program that code starts: a shell's text, or a list of words.
    fn started(&mut self, arguments: &str, literals: &[String], code: &Field, command: Option<u32>, setting: &Setting<'_>) {
        let Some(first) = literals.first() else {
            return self.plain(EffectKind::ProcessStart, "", false, command, setting);
        };
        let is_list = arguments.trim_start().starts_with(['[', '(']) || (literals.len() > 1 && !first.contains(' '));
        let text = if is_list { literals.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ") } else { first.clone() };
        let field = Field { text, known: true, span: code.span, ..Field::default() };
        self.nested(&field, "code", setting);
    }

    /// Backquotes run a command in perl, ruby and php.
    fn quoted_commands(&mut self, language: &str, code: &Field, masked: &str, setting: &Setting<'_>) {
        if !matches!(language, "perl" | "ruby" | "php") {
            return;
        }
        let marks: Vec<usize> = masked.match_indices('`').map(|(at, _)| at).take(32).collect();
        for pair in marks.chunks_exact(2) {
            if let [start, end] = pair
                && let Some(text) = code.text.get(start + 1..*end)
            {
                self.nested(&Field { text: text.to_owned(), known: true, span: code.span, ..Field::default() }, "code", setting);
            }
        }
    }
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

fn clip(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    text.get(..end).unwrap_or("")
}

/// The match is the end of a longer name.
fn is_word_before(text: &str, at: usize, call: &str) -> bool {
    let before = text.get(..at).and_then(|before| before.chars().next_back());
    let dotted = !call.starts_with('.')
        && matches!(call, "exec(" | "eval(" | "open(" | "spawn(" | "system(" | "fetch(" | "exec " | "eval " | "system ");
    before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '$' || (dotted && c == '.')) && !call.starts_with('.')
}

/// `Path("x").unlink()`: the literal stands before the call.
fn path_before(whole: &str, arguments: &str) -> Option<String> {
    let end = (arguments.as_ptr() as usize).checked_sub(whole.as_ptr() as usize)?;
    let before = whole.get(..end)?;
    let start = before.rfind("Path(")?;
    literals(before.get(start + 5..)?).into_iter().next()
}

/// The code with what is in its texts and comments blanked, byte for byte.
fn mask(code: &str, language: &str) -> String {
    let hash = !matches!(language, "node");
    let slashes = matches!(language, "node" | "php");
    let mut masked = String::with_capacity(code.len());
    let mut chars = code.chars().peekable();
    let mut quote: Option<char> = None;
    let mut comment = false;
    while let Some(c) = chars.next() {
        let blank = quote.is_some() || comment;
        match (quote, c) {
            (Some(_), '\\') => {
                masked.push('.');
                if let Some(next) = chars.next() {
                    masked.extend(std::iter::repeat_n('.', next.len_utf8()));
                }
                continue;
            }
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') if !comment => quote = Some(c),
            (None, '\n') => comment = false,
            (None, '#') if hash => comment = true,
            (None, '/') if slashes && !comment && chars.peek() == Some(&'/') && !masked.ends_with(':') => comment = true,
            _ => {}
        }
        if blank && quote.is_some() || comment {
            masked.extend(std::iter::repeat_n('.', c.len_utf8()));
        } else {
            masked.push(c);
        }
    }
    masked
}

/// The quoted texts in a list of arguments, up to its end.
fn literals(arguments: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = 0_i32;
    let mut chars = arguments.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '(' | '[' => open += 1,
            ')' | ']' => open -= 1,
            '\'' | '"' | '`' => {
                let Some(text) = arguments.get(at + 1..) else { break };
                let end = closing(text, c);
                found.push(unescape(text.get(..end).unwrap_or("")));
                while chars.next().is_some_and(|(next, _)| next < at + 1 + end) {}
            }
            '\n' | ';' if open <= 0 => break,
            _ => {}
        }
        if open < 0 || found.len() >= 32 {
            break;
        }
    }
    found
}

fn closing(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at,
            _ => {}
        }
    }
    text.len()
}
