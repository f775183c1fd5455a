//! The effects of parsed code, call by call.

use super::super::expand::Field;
use super::super::feed::{Feed, Source};
use super::super::{Setting, Walker, sql};
use super::calls::{Act, find};
use super::values::{Place, argument, database, fetches, first_part, source_of, texts_of};
use super::writes::{Mode, WrittenByCode, mode_of};
use super::{BUILT, at_home};
use crate::places;
use crate::types::EffectKind;
use portcullis_inline_code::{Call, Code, HOLE, Kind, Value};

/// Modules through which code starts programs or reaches any other name.
const POWERFUL: &[&str] = &[
    "os",
    "posix",
    "subprocess",
    "shutil",
    "pty",
    "builtins",
    "ctypes",
    "importlib",
    "commands",
    "child_process",
    "fs",
    "globalThis",
    "Reflect",
];
/// Modules that are dangerous only to hand on as a whole, not by a computed member.
const HARMLESS_WHOLE: &[&str] = &["fs", "globalThis", "Reflect"];
/// Words before the whole environment of which only its names, or their number, are asked.
const OF_NAMES: &[&str] = &[
    " in",
    "Object.keys(",
    "Object.hasOwn(",
    "Object.getOwnPropertyNames(",
    "Reflect.ownKeys(",
    "len(",
    "list(",
    "set(",
    "sorted(",
];
/// Methods of the whole environment that hand on its values.
const OF_VALUES: &[&str] = &[".copy", ".items", ".values"];
/// Names of the whole environment.
const ENVIRONMENTS: &[&str] =
    &["os.environ", "os.environb", "process.env", "Bun.env", "environ", "import.meta.env"];
/// Calls whose results are every file below a folder.
const TREES: &[&str] = &["os.walk", "os.fwalk", "rglob", "glob.glob", "glob.iglob", "glob.sync"];

impl Walker<'_> {
    /// Notes the effects of parsed code; returns its output.
    pub(super) fn effects_of_code(
        &mut self,
        code: &Code,
        python: bool,
        field: &Field,
        command: Option<u32>,
        setting: &Setting,
    ) -> Feed {
        let place = Place { code, field, python, command };
        self.uses(&place, setting);
        self.remote_shell(&place, setting);
        let mut printed = Some(String::new());
        let mut written = WrittenByCode::default();
        for call in &code.calls {
            if self.work == 0 {
                self.out.limit("more text than is read");
                break;
            }
            self.spend(64);
            if unknown_name(&call.name) {
                self.out.gap("a call whose name is known only when it runs");
                self.plain(EffectKind::ProcessStart, "", false, command, setting);
                continue;
            }
            let act = find(&call.name, python);
            match act {
                Some(Act::Print) => {
                    printed = printed.zip(printed_by(call)).map(|(all, text)| all + &text);
                }
                Some(act) => self.act(act, call, &place, setting),
                None => {}
            }
            written.note(self, act, call, &place, setting);
        }
        written.end(self);
        match printed.filter(|text| !text.is_empty()) {
            Some(text) => Feed::of_text(&text),
            None => Feed::default(),
        }
    }

    /// Notes names that code uses as values: the whole environment, a module that it hands on.
    fn uses(&mut self, place: &Place<'_>, setting: &Setting) {
        for name in &place.code.used {
            if ENVIRONMENTS.contains(&name.as_str()) {
                if names_only(&place.field.text, name) {
                    continue;
                }
                self.plain(EffectKind::SecretRead, "environment", false, place.command, setting);
            } else if POWERFUL.contains(&name.as_str()) && !HARMLESS_WHOLE.contains(&name.as_str())
                || name.contains(HOLE)
            {
                self.out.gap("a module that runs programs is used in a way that is not followed");
            }
        }
    }

    /// Notes a shell that gets its input from a connection.
    fn remote_shell(&mut self, place: &Place<'_>, setting: &Setting) {
        let calls = &place.code.calls;
        let has = |apply: &dyn Fn(&Call) -> bool| calls.iter().any(apply);
        let connects = has(&|call| {
            (call.name.contains("socket")
                || call.name.starts_with("net.")
                || call.name.starts_with("tls."))
                && call.name.contains("connect")
                || matches!(
                    call.name.as_str(),
                    "net.createConnection"
                        | "Deno.connect"
                        | "Bun.connect"
                        | "net.createServer"
                        | "net.Server"
                        | "tls.createServer"
                        | "asyncio.start_server"
                        | "asyncio.open_connection"
                        | "socket.create_server"
                )
                || call.name.ends_with("socket.socket().bind")
        });
        let shells = has(&|call| {
            // `dup2` puts the connection in the place of a shell's own streams.
            matches!(call.name.as_str(), "os.dup2" | "pty.spawn")
                || matches!(
                    find(&call.name, place.python),
                    Some(Act::Program(_) | Act::ProgramAndList(_) | Act::Words(_) | Act::Shell(_))
                ) && call.arguments.iter().any(starts_shell)
        });
        if connects && shells {
            self.out.form("remote-shell", place.command);
            self.plain(EffectKind::UnseenCode, "", false, place.command, setting);
        }
    }

    /// Returns the words that a value may be.
    pub(super) fn words_of(&self, value: Option<&Value>, place: &Place<'_>) -> Vec<Field> {
        texts_of(value)
            .iter()
            .map(|text| Field::plain(&at_home(text, self.home), place.field.span))
            .collect()
    }

    pub(super) fn on_files(
        &mut self,
        kind: &EffectKind,
        value: Option<&Value>,
        recursive: bool,
        place: &Place<'_>,
        setting: &Setting,
    ) {
        let tree = value.is_some_and(|value| {
            place.origins(value).any(|call| TREES.iter().any(|tree| call.name.ends_with(tree)))
        });
        for word in self.words_of(value, place) {
            // A loop over `os.walk` deletes one by one what `rmtree` deletes at once.
            let below = tree && !word.known && *kind == EffectKind::FileDelete;
            self.file(kind.clone(), &word, recursive || below, place.command, setting);
        }
    }

    #[allow(clippy::too_many_lines, reason = "one arm a kind of effect")]
    fn act(&mut self, act: Act, call: &Call, place: &Place<'_>, setting: &Setting) {
        let command = place.command;
        let at = |at: usize| argument(call, at);
        let own = call.receiver.as_ref();
        match act {
            Act::Print | Act::Nothing => {}
            Act::Read(n) => self.on_files(&EffectKind::FileRead, at(n), false, place, setting),
            Act::Write(n) => self.on_files(&EffectKind::FileModify, at(n), false, place, setting),
            Act::Mark(n) => self.on_files(&EffectKind::FileModify, at(n), false, place, setting),
            Act::Permit => self.permits(at(0), at(1), place, setting),
            Act::OwnPermit => self.permits(own, at(0), place, setting),
            Act::Create(n) => self.on_files(&EffectKind::FileCreate, at(n), false, place, setting),
            Act::Delete(n) => self.on_files(&EffectKind::FileDelete, at(n), false, place, setting),
            Act::DeleteTree(n) => {
                self.out.form("recursive-delete", command);
                self.on_files(&EffectKind::FileDelete, at(n), true, place, setting);
            }
            Act::Move => {
                self.on_files(&EffectKind::FileModify, at(0), true, place, setting);
                self.on_files(&EffectKind::FileModify, at(1), false, place, setting);
            }
            Act::Copy | Act::CopyTree => {
                let tree = act == Act::CopyTree;
                self.on_files(&EffectKind::FileRead, at(0), tree, place, setting);
                self.on_files(&EffectKind::FileModify, at(1), false, place, setting);
            }
            Act::Link => self.links_in_code(at(0), at(1), call, place, setting),
            Act::Open => self.opens_file(at(0), at(1), call, place, setting),
            Act::OpenFlags => {
                // `O_RDONLY` is 0.
                let read = at(1).is_some_and(|flags| {
                    matches!(&flags.kind, Kind::Name(name) if name.ends_with("O_RDONLY"))
                        || flags.kind == Kind::Number(0)
                });
                let kind = if read { EffectKind::FileRead } else { EffectKind::FileModify };
                self.on_files(&kind, at(0), false, place, setting);
            }
            Act::OwnRead => self.on_files(&EffectKind::FileRead, own, false, place, setting),
            Act::OwnWrite => self.on_files(&EffectKind::FileModify, own, false, place, setting),
            Act::OwnCreate => self.on_files(&EffectKind::FileCreate, own, false, place, setting),
            Act::OwnDelete => self.on_files(&EffectKind::FileDelete, own, false, place, setting),
            Act::OwnLink => self.links_in_code(at(0), own, call, place, setting),
            Act::OwnMove => {
                self.on_files(&EffectKind::FileModify, own, true, place, setting);
                self.on_files(&EffectKind::FileModify, at(0), false, place, setting);
            }
            Act::OwnOpen => self.opens_file(own, at(0), call, place, setting),
            Act::Shell(n) => self.starts_shell(call, n, place, setting),
            Act::RemoteShell(_) => {
                self.plain(EffectKind::RemoteChange, "", false, command, setting);
                self.plain(EffectKind::Network, "", false, command, setting);
            }
            Act::Program(n) => self.starts_program(call, n, place, setting),
            Act::ProgramAndList(n) => self.starts_listed(call, n, place, setting),
            Act::Words(n) => self.starts_words(call, n + 1, Some(n), place, setting),
            Act::PlainWords(n) => self.starts_words(call, n, None, place, setting),
            Act::Input => self.gives_input(call, place, setting),
            Act::Fork => {
                if call.looped {
                    self.out.form("fork-bomb", command);
                    self.plain(EffectKind::ResourceUse, "processes", true, command, setting);
                }
            }
            Act::Chdir(n) => self.changes_folder(at(n), place, setting),
            Act::Connect(n) => {
                // Node's: a port, and the host behind it.
                let port = at(n).is_some_and(|first| matches!(first.kind, Kind::Number(_)));
                let host = call.arguments.get(n + 1).filter(|host| host.as_text().is_some());
                self.connects(host.filter(|_| port && n == 0).or_else(|| at(n)), place, setting);
            }
            Act::ConnectPair => {
                // Many objects have a `connect`; a pair of host and port tells a socket.
                if at(0).is_some_and(|pair| matches!(pair.kind, Kind::List(_))) {
                    self.connects(at(0), place, setting);
                }
            }
            Act::Request(n) => self.requests(call, at(n), None, place, setting),
            Act::MethodRequest => self.requests(call, at(1), at(0), place, setting),
            Act::Get(n) => self.connects(at(n), place, setting),
            Act::Post(n) => {
                self.connects(at(n), place, setting);
                self.sends(EffectKind::Send, at(n), place, setting);
                self.sends_credential(call, n + 1, place, setting);
            }
            Act::Erase(n) => {
                self.connects(at(n), place, setting);
                self.sends(EffectKind::RemoteDelete, at(n), place, setting);
            }
            Act::OwnRequest => {
                let host = own.and_then(first_part);
                self.requests(call, host.as_ref(), at(0), place, setting);
            }
            Act::OwnSend => {
                let host = own.and_then(|own| self.host_of(own, place));
                self.sends(EffectKind::Send, host.as_ref(), place, setting);
                self.sends_credential(call, 0, place, setting);
            }
            Act::Serve => self.plain(EffectKind::Network, "", false, command, setting),
            Act::Statement(n) => self.states(call, n, place, setting),
            Act::Environment => {
                self.plain(EffectKind::SecretRead, "environment", false, command, setting);
            }
            Act::Dynamic(n) => self.runs_text(call, n, place, setting),
            Act::RunFile(n) => self.runs_file(call, n, place, setting),
            Act::Native => {
                self.out.gap("code of a library that is not read");
                self.plain(EffectKind::ProcessStart, "", false, command, setting);
            }
            Act::Stop(n) => self.stops(at(n), place, setting),
            Act::System(name) => self.plain(EffectKind::SystemChange, name, true, command, setting),
            Act::Privilege => self.plain(EffectKind::Privilege, "user", true, command, setting),
            Act::RemoteChange(name) => {
                self.plain(EffectKind::RemoteChange, name, true, command, setting);
            }
            Act::RemoteDelete(name) => {
                self.plain(EffectKind::RemoteDelete, name, true, command, setting);
            }
            Act::Cloud => self.calls_cloud(call, place, setting),
            Act::Drops => self.empties_store("drop-data", place, setting),
            Act::Empties => self.empties_store("delete-all-rows", place, setting),
            Act::OwnStop => self.stops_own(call, place, setting),
            Act::Publish => self.plain(EffectKind::Publish, "", false, command, setting),
            Act::Secret(name) => self.plain(EffectKind::SecretRead, name, true, command, setting),
        }
    }

    /// Notes `open`: the mode decides, and one that is not known may write.
    fn opens_file(
        &mut self,
        path: Option<&Value>,
        mode: Option<&Value>,
        call: &Call,
        place: &Place<'_>,
        setting: &Setting,
    ) {
        // A number is a descriptor that is open already.
        if path.is_some_and(|path| matches!(path.kind, Kind::Number(_))) {
            return;
        }
        let writes = mode_of(call, mode) != Mode::Read;
        let kind = if writes { EffectKind::FileModify } else { EffectKind::FileRead };
        self.on_files(&kind, path, false, place, setting);
    }

    fn changes_folder(&mut self, to: Option<&Value>, place: &Place<'_>, setting: &Setting) {
        if let Some(word) = self.words_of(to, place).first() {
            let text = format!("cd {}", super::super::routines::quoted(&word.text));
            self.nested(&Field { text, ..word.clone() }, "code", setting);
        }
    }

    /// Notes statements that code hands to a database: a file's, if it opened one.
    fn states(&mut self, call: &Call, at: usize, place: &Place<'_>, setting: &Setting) {
        let file = call.receiver.as_ref().and_then(database);
        let here = file.is_none() && self.is_local_store(place);
        for statement in texts_of(argument(call, at)) {
            let change = sql::change(&statement);
            match &file {
                _ if here => {}
                Some(file) => {
                    for word in self.words_of(Some(file), place) {
                        self.changed(change, Some(&word), place.command, setting);
                    }
                }
                None => self.changed(change, None, place.command, setting),
            }
        }
    }

    /// Notes a text that is run as code. One that is known was read as such already.
    fn runs_text(&mut self, call: &Call, at: usize, place: &Place<'_>, setting: &Setting) {
        // The text may be behind any number of parameters: `Function('a', 'b', CODE)`.
        let text = if at == 9 { call.arguments.last() } else { argument(call, at) };
        let Some(text) = text else { return };
        let known = texts_of(Some(text)).iter().all(|text| !text.contains(HOLE));
        let source = source_of(text, place);
        if source.is_unseen() {
            self.unseen(source, place.command, setting);
        } else if !known {
            // The text is not known, and code that fetches something may run what it fetched.
            let fetched = place.code.calls.iter().any(|call| fetches(call, place.python));
            let source = if fetched { Source::DOWNLOADED } else { setting.input.source };
            self.unseen(source, place.command, setting);
            self.out.gap(BUILT);
            self.plain(EffectKind::ProcessStart, "", false, place.command, setting);
        }
    }

    fn runs_file(&mut self, call: &Call, at: usize, place: &Place<'_>, setting: &Setting) {
        for word in self.words_of(argument(call, at), place) {
            self.file(EffectKind::FileRead, &word, false, place.command, setting);
            let (path, _) = places::resolve(&word.text, &self.env.folder);
            if self.is_project(&path) {
                self.project_run(place.command, setting);
            } else {
                self.plain(EffectKind::ProcessStart, &path, false, place.command, setting);
            }
        }
    }
}

/// Returns true if the module of a call may be a powerful one and its name is not known.
fn unknown_name(name: &str) -> bool {
    let module = name.split('.').next().unwrap_or("");
    name.contains(HOLE) && (POWERFUL.contains(&module) || module.contains(HOLE))
}

/// Returns true for the path of a shell, alone or as the first of a list.
fn starts_shell(value: &Value) -> bool {
    let first = match &value.kind {
        Kind::List(items) => items.first(),
        _ => Some(value),
    };
    texts_of(first).iter().any(|text| {
        let program = text.split_whitespace().next().unwrap_or("");
        let name = program.rsplit(['/', '\\']).next().unwrap_or("");
        matches!(
            name,
            "sh" | "bash"
                | "zsh"
                | "dash"
                | "ksh"
                | "cmd"
                | "cmd.exe"
                | "powershell"
                | "powershell.exe"
                | "pwsh"
        )
    })
}

/// Returns the text that a call prints, if all of it is known.
fn printed_by(call: &Call) -> Option<String> {
    // `end`, `sep` and `file` change the output, and a loop repeats it: neither is computed.
    if call.keywords.iter().any(|(name, _)| name != "flush") || call.looped {
        return None;
    }
    let texts: Option<Vec<String>> = call
        .arguments
        .iter()
        .map(|value| {
            value.as_text().filter(|text| !text.contains(HOLE)).map(|text| text.to_string())
        })
        .collect();
    let end = if call.name.ends_with("write") { "" } else { "\n" };
    Some(texts?.join(" ") + end)
}

/// Returns true if code asks which variables there are, and for the value of none that it computes.
/// Code that has the environment under another name may do anything with it.
fn names_only(code: &str, environment: &str) -> bool {
    code.contains(environment)
        && code.match_indices(environment).take(64).all(|(at, _)| {
            let before = code.get(..at).unwrap_or_default().trim_end();
            let after = code.get(at + environment.len()..).unwrap_or_default();
            match after.chars().next() {
                Some('.') => !OF_VALUES.iter().any(|method| after.starts_with(method)),
                Some('[') => after.get(1..).is_some_and(|key| key.starts_with(['\'', '"'])),
                _ => OF_NAMES.iter().any(|sign| before.ends_with(sign)),
            }
        })
}
