//! A plan of the catalogue, turned into effects.

use super::environment::UNKNOWN;
use super::expand::Field;
use super::feed::{Source, Trust};
use super::output::located;
use super::{Setting, Walker};
use crate::catalogue::{Item, Plan};
use crate::places::{self, Place};
use crate::syntax::Span;
use crate::types::{Effect, EffectKind};

/// Programs that ask for a name.
const LOOKS_UP: &[&str] =
    &["dig", "dog", "doggo", "drill", "nslookup", "host", "delv", "kdig", "resolvectl"];
/// Programs that ask for a name on their way to the machine.
const REACHES: &[&str] = &[
    "arping",
    "fping",
    "getent",
    "hping3",
    "mtr",
    "nc",
    "ncat",
    "ping",
    "ping6",
    "telnet",
    "tracepath",
    "traceroute",
];

/// Programs that take a word for a pattern even where it was quoted.
const EXPANDING: &[&str] = &[
    "7z",
    "7za",
    "7zz",
    "copy",
    "del",
    "erase",
    "fd",
    "fdfind",
    "git",
    "hg",
    "mmv",
    "move",
    "powershell",
    "pwsh",
    "rd",
    "rename",
    "ri",
    "tar",
    "unzip",
    "zip",
];

impl Walker<'_> {
    /// Notes the effects and forms of a plan; returns the source of the program's output.
    pub(super) fn effects_of(
        &mut self,
        plan: &Plan,
        rest: &[Field],
        command: Option<u32>,
        setting: &Setting,
    ) -> Source {
        let mut source = Source::LOCAL;
        if plan.nothing {
            return source;
        }
        self.metadata = plan.metadata;
        for item in &plan.items {
            match item {
                Item::Word(kind, at) => {
                    if let Some(field) = rest.get(*at) {
                        self.on_word(kind.clone(), field, plan.recursive, command, setting);
                    }
                }
                Item::Value(kind, value) => self.on_word(
                    kind.clone(),
                    &Field::plain(value, Span::default()),
                    plan.recursive,
                    command,
                    setting,
                ),
                Item::Constant(kind, name) => {
                    self.on_constant(kind.clone(), name, plan.recursive, command, setting)
                }
                // A call that reaches this machine alone meets nobody whose certificate has to be
                // checked.
                Item::Form("skip-tls") if self.trusts_itself(plan, rest) => {}
                Item::Form(id) => self.out.form(id, command),
                Item::Gives("downloaded") => source = source.max(Source::DOWNLOADED),
                Item::Gives("decoded") => source = source.max(Source::DECODED),
                Item::Gives(_) => {
                    source = source.max(Source::ENVIRONMENT);
                    if plan.operands.is_empty() && in_service(setting) {
                        self.plain(EffectKind::SecretRead, "environment", false, command, setting);
                    }
                }
                Item::Shell(_)
                | Item::Code(..)
                | Item::Held(..)
                | Item::Run(..)
                | Item::Source(..)
                | Item::RunSource(..) => {}
            }
        }
        self.metadata = false;
        source
    }

    fn on_word(
        &mut self,
        kind: EffectKind,
        field: &Field,
        recursive: bool,
        command: Option<u32>,
        setting: &Setting,
    ) {
        match kind {
            EffectKind::FileRead
            | EffectKind::FileCreate
            | EffectKind::FileModify
            | EffectKind::FileDelete
            | EffectKind::Discard => {
                self.file(kind, field, recursive, command, setting);
            }
            EffectKind::Network if field.text.starts_with("file://") => {
                self.file(EffectKind::FileRead, &of_address(field), recursive, command, setting);
            }
            EffectKind::Send | EffectKind::RemoteChange if field.text.starts_with("file://") => {
                self.file(EffectKind::FileModify, &of_address(field), recursive, command, setting);
            }
            EffectKind::Network => {
                // A name is resolved by a server under the control of the name's owner: data that
                // is put into the name is sent there.
                let labelled = field.text.contains(&format!("{UNKNOWN}."));
                let looks_up = |program: &str| {
                    LOOKS_UP.contains(&program) || (labelled && REACHES.contains(&program))
                };
                let looked_up = self.program_of(command).is_some_and(looks_up) && !field.known;
                self.network(field, command, setting);
                if looked_up {
                    let zone =
                        field.text.rsplit(UNKNOWN).next().unwrap_or("").trim_start_matches('.');
                    self.plain(EffectKind::Send, zone, false, command, setting);
                }
            }
            // `kill -9 -1` reaches every process that the user may signal.
            EffectKind::ProcessStop if matches!(field.text.as_str(), "*" | "-1") => {
                self.out.form("kill-everything", command);
                self.plain(kind, &field.text, true, command, setting);
            }
            EffectKind::Publish
            | EffectKind::Send
            | EffectKind::RemoteChange
            | EffectKind::RemoteDelete
                if field.text.contains("://") || field.text.contains('@') =>
            {
                let host = places::host(&field.text).unwrap_or_default();
                self.plain(kind, &host, field.known, command, setting);
            }
            kind => self.plain(kind, known_part(&field.text), field.known, command, setting),
        }
    }

    pub(super) fn program_of(&self, command: Option<u32>) -> Option<&str> {
        let index = usize::try_from(command?).ok()?;
        self.out.commands.get(index).map(|command| command.program.as_str())
    }

    fn on_constant(
        &mut self,
        kind: EffectKind,
        name: &str,
        recursive: bool,
        command: Option<u32>,
        setting: &Setting,
    ) {
        match kind {
            EffectKind::FileRead
            | EffectKind::FileCreate
            | EffectKind::FileModify
            | EffectKind::FileDelete
            | EffectKind::Discard => {
                let (path, _) = places::resolve(
                    &self.expand_home(if name.is_empty() { "." } else { name }),
                    &self.env.folder.clone(),
                );
                self.emit(kind, path, recursive, false, command, setting);
            }
            kind => {
                let certain = !name.is_empty();
                self.plain(kind, name, certain, command, setting);
            }
        }
    }

    fn expand_home(&self, name: &str) -> String {
        match name.strip_prefix("~/") {
            Some(rest) if !self.home.is_empty() => format!("{}/{rest}", self.home),
            _ => name.to_owned(),
        }
    }

    /// Notes an effect on the file that a word names.
    pub(super) fn file(
        &mut self,
        kind: EffectKind,
        field: &Field,
        recursive: bool,
        command: Option<u32>,
        setting: &Setting,
    ) {
        // Neither names a file: `-` is the program's own stream, a feed is the pipe of a
        // substitution.
        if field.text.is_empty() || field.text == "-" || field.feed.is_some() {
            return;
        }
        if let Some(socket) =
            field.text.strip_prefix("/dev/tcp/").or_else(|| field.text.strip_prefix("/dev/udp/"))
        {
            let host = Field::plain(socket.split('/').next().unwrap_or(""), field.span);
            self.network(&host, command, setting);
            // A port of this machine is asked whether a service is up by now.
            let own =
                places::host(&host.text).is_some_and(|host| super::safeguards::is_own_host(&host));
            if !own {
                self.out.form("raw-socket", command);
            }
            return;
        }
        if field.text.contains("://") && !field.text.starts_with("file:") {
            return self.network(field, command, setting);
        }
        let (path, certain) = places::resolve(&field.text, &self.env.folder);
        if kind == EffectKind::FileDelete || (kind == EffectKind::FileModify && !setting.appends) {
            if places::is_history(&path) {
                self.out.hides("history-clear", &path, command);
            } else if places::is_log(&path) {
                self.out.hides("log-clear", &path, command);
            }
        }
        if places::is_stream(&path) {
            return;
        }
        if path == "/proc/sysrq-trigger" && kind == EffectKind::FileModify {
            self.out.form("shutdown", command);
        }
        // A process whose number is not known here resolves to no path, and still shows its
        // variables.
        let of_process = field.text.starts_with("/proc/") && field.text.ends_with("/environ");
        if kind == EffectKind::FileRead && of_process && !certain && !self.metadata {
            self.plain(EffectKind::SecretRead, "/proc/*/environ", false, command, setting);
        }
        // Python names this folder only as it runs (`site.getusersitepackages()`), and runs a file
        // of this name at each start: the end of the path is enough.
        let loads = ["/usercustomize.py", "/sitecustomize.py"];
        if path.is_empty()
            && matches!(kind, EffectKind::FileModify | EffectKind::FileCreate)
            && loads.iter().any(|end| field.text.ends_with(end))
        {
            self.plain(EffectKind::Persistence, "python", true, command, setting);
        }
        if path.is_empty() && kind == EffectKind::FileDelete {
            self.out.gap("what is deleted is known only when it runs");
        }
        let certain = certain && field.known;
        let enters = field.text.ends_with('/') || field.text.ends_with("/.");
        let enters = std::mem::replace(&mut self.enters, enters);
        self.on_named_path(kind, field, path, recursive, certain, command, setting);
        self.enters = enters;
    }

    #[allow(clippy::too_many_arguments, reason = "an effect, and what it follows from")]
    fn on_named_path(
        &mut self,
        kind: EffectKind,
        field: &Field,
        path: String,
        recursive: bool,
        certain: bool,
        command: Option<u32>,
        setting: &Setting,
    ) {
        let Some(climbing) = self.as_the_system_goes(&field.text) else {
            let target = self.target_of(&path, field, command);
            return self.emit_at(kind, path, target, recursive, certain, command, setting);
        };
        let there = places::normalise(&climbing);
        if there != path {
            // It went through a link of this line's own making, if it was put at one.
            self.emit(kind.clone(), path, recursive, false, command, setting);
        }
        let target = self.target_of(&climbing, field, command);
        self.emit_at(kind, there, target, recursive, certain, command, setting);
    }

    /// Returns a target as effects name it: a pattern that only this name matches, if quotes make
    /// it a literal name. Some programs treat their words as patterns despite quotes.
    fn target_of(&self, path: &str, field: &Field, command: Option<u32>) -> String {
        let expands = self
            .program_of(command)
            // Cmdlets of PowerShell have a dash in their names, and expand a quoted word as well.
            .is_some_and(|program| EXPANDING.contains(&program) || program.contains('-'));
        let literal = field.is_literal()
            && (field.text.starts_with('/') || self.env.is_literal())
            && !expands;
        if literal { places::as_glob(path) } else { path.to_owned() }
    }

    /// Notes a file effect on a resolved path, with the consequences of the path.
    pub(super) fn emit(
        &mut self,
        kind: EffectKind,
        path: String,
        recursive: bool,
        certain: bool,
        command: Option<u32>,
        setting: &Setting,
    ) {
        self.emit_at(kind, path.clone(), path, recursive, certain, command, setting);
    }

    /// Notes an effect as `emit` does, with the target as effects name it.
    #[allow(clippy::too_many_arguments, reason = "an effect, and what it follows from")]
    fn emit_at(
        &mut self,
        kind: EffectKind,
        path: String,
        target: String,
        recursive: bool,
        certain: bool,
        command: Option<u32>,
        setting: &Setting,
    ) {
        let here = setting.place == Place::Here && !self.links.is_empty();
        if here {
            self.through_links(&kind, &path, recursive, certain, command, setting);
        }
        // A file that is removed through a link is not at the place that its name says.
        let certain = certain && !(kind == EffectKind::FileDelete && here && self.is_led(&path));
        self.on_place(kind, path, target, recursive, certain, command, setting);
    }

    /// Notes an effect on one place, with its consequences there.
    #[allow(clippy::too_many_arguments, reason = "an effect, and what it follows from")]
    pub(super) fn on_place(
        &mut self,
        kind: EffectKind,
        path: String,
        target: String,
        recursive: bool,
        certain: bool,
        command: Option<u32>,
        setting: &Setting,
    ) {
        // A mounted folder is one of this machine: the effect leaves the container.
        if let Place::Container(_, mounts) = &setting.place
            && let Some(mount) = super::output::mounted(&path, mounts)
        {
            let outside = Setting { place: Place::Here, ..setting.clone() };
            if mount.read_only && kind != EffectKind::FileRead {
                return;
            }
            if !mount.here.contains(UNKNOWN) {
                return self.emit(kind, mount.here, recursive, certain, command, &outside);
            }
            if kind == EffectKind::FileDelete {
                self.out.gap("what is deleted is known only when it runs");
            }
            return self.push(kind, String::new(), recursive, false, command, &outside);
        }
        let (kinds, forms) = places::consequences(&kind, &path, recursive, self.home);
        let inside = self.is_inside(&path, &setting.place);
        for form in forms.into_iter().filter(|_| !inside) {
            self.out.form(form, command);
        }
        // Here the path says how far it goes; of another machine only the form does.
        let is_host = matches!(setting.place, Place::Host(_));
        if is_host && kind == EffectKind::FileDelete && is_anywhere(&path) {
            self.out.form("delete-everywhere", command);
        }
        if matches!(kind, EffectKind::FileModify | EffectKind::FileCreate) {
            self.note_written(&path);
            self.note_unmasked(&path, command, setting);
        }
        if kind == EffectKind::FileRead && !self.metadata {
            self.note_process_file(&path);
            self.note_hoard(&path, recursive, command, setting);
        }
        let tainted = kind == EffectKind::FileRead && self.is_tainted(&path);
        if kind == EffectKind::FileRead && !self.metadata && self.is_dumped(&path) {
            self.dumps += 1;
        }
        let shown = |more: &EffectKind| !self.metadata || *more != EffectKind::SecretRead;
        let more = kinds.into_iter().chain(tainted.then_some(EffectKind::SecretRead));
        for more in more.filter(shown).collect::<Vec<_>>() {
            if more == EffectKind::SecretRead && self.secrets.len() < 256 {
                self.secrets.push((command, true));
            }
            self.push(more, path.clone(), false, certain, command, setting);
        }
        self.push(kind, target, recursive, certain, command, setting);
    }

    /// Notes an effect on something that is not a file.
    pub(super) fn plain(
        &mut self,
        kind: EffectKind,
        target: &str,
        certain: bool,
        command: Option<u32>,
        setting: &Setting,
    ) {
        if kind == EffectKind::SecretRead && self.secrets.len() < 256 {
            self.secrets.push((command, target == "environment"));
        }
        if matches!(kind, EffectKind::Network | EffectKind::Send | EffectKind::Publish)
            && self.contacts.len() < 256
        {
            self.contacts.push(command);
        }
        if kind == EffectKind::Send && self.sendings.len() < 256 {
            self.sendings.push((command, target.to_owned()));
        }
        self.push(kind, target.to_owned(), false, certain, command, setting);
    }

    /// Notes a connection to the host that a word names.
    pub(super) fn network(&mut self, field: &Field, command: Option<u32>, setting: &Setting) {
        match places::host(&field.text) {
            Some(host) => self.plain(EffectKind::Network, &host, true, command, setting),
            None => self.plain(EffectKind::Network, "", false, command, setting),
        }
        if field.source.trust == Trust::Environment {
            self.plain(EffectKind::SecretRead, "environment", false, command, setting);
        }
    }

    pub(super) fn push(
        &mut self,
        kind: EffectKind,
        mut target: String,
        recursive: bool,
        certain: bool,
        command: Option<u32>,
        setting: &Setting,
    ) {
        // Every effect is compared with all links, so that a line with many links costs more.
        self.step(1 + self.links.len());
        if self.is_left_open(&kind, &target, certain) {
            return;
        }
        super::output::cut(&mut target, 4096);
        if let Some((kind, target)) = located(kind, target, &setting.place) {
            self.out.effect(Effect { kind, target, path: None, command, recursive, certain });
        }
    }

    /// Runs something of the project (a script, a build, its tests): it may change anything below.
    pub(super) fn project_run(&mut self, command: Option<u32>, setting: &Setting) {
        let folder =
            if self.env.folder.contains(UNKNOWN) { String::new() } else { self.env.folder.clone() };
        self.emit(EffectKind::FileModify, folder, false, false, command, setting);
    }
}

/// Returns true for a command inside what others use: its variables are the credentials of that.
fn in_service(setting: &Setting) -> bool {
    const SERVICES: &[&str] = &["fly", "flyctl", "heroku", "kubectl", "oc"];
    setting.wrappers.iter().any(|wrapper| {
        let name = wrapper.split(' ').next().unwrap_or_default();
        SERVICES.contains(&name)
    })
}

/// Returns the file that an address of this machine names: `file:///etc/hosts`.
fn of_address(field: &Field) -> Field {
    let rest = field.text.strip_prefix("file://").unwrap_or(&field.text);
    let path = rest.find('/').and_then(|at| rest.get(at..)).unwrap_or(rest);
    Field { text: path.to_owned(), ..field.clone() }
}

/// Returns true for a pattern of files in all folders of a machine: `/**/x`.
fn is_anywhere(path: &str) -> bool {
    path.strip_prefix("/*").is_some_and(|rest| rest.starts_with(['*', '/']))
}

/// Returns the text before the first unknown part.
pub(super) fn known_part(text: &str) -> &str {
    text.split(UNKNOWN).next().unwrap_or("")
}
