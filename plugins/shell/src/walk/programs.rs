//! Program behaviour that the tables cannot express: words whose meaning depends on other words.

use super::environment::UNKNOWN;
use super::expand::Field;
use super::feed::{Feed, Trust};
use super::simple::Call;
use super::{Setting, Walker};
use crate::catalogue::{self, Item, Plan};
use crate::places;
use crate::types::EffectKind;

impl Walker<'_> {
    /// Follows a program that the tables know; returns its output.
    pub(super) fn known_program(
        &mut self,
        name: &str,
        rest: &[Field],
        plan: &Plan,
        command: Option<u32>,
        call: &Call,
        setting: &Setting,
    ) -> Feed {
        let name = catalogue::name_of(name);
        let asks =
            rest.last().is_some_and(|field| field.text == "--help" || field.text == "--version")
                || matches!(rest, [only] if matches!(only.text.as_str(), "-v" | "-V" | "-h"));
        let mut source = call.input.source;
        let mut feed = Feed::default();
        if !plan.nothing && !asks {
            if let Some(feed) = self.builtin(name, rest, plan, command, call, setting) {
                return feed;
            }
            let contacts = self.contacts.len();
            let shown = super::requests::in_plain_sight(name, rest, plan, &call.input);
            let gives = self.effects_of(shown.as_ref().unwrap_or(plan), rest, command, setting);
            if gives.trust != Trust::Environment || plan.operands.is_empty() {
                source = source.max(gives);
            }
            let secret_input =
                call.input.source.trust == Trust::Environment || call.input.source.credential;
            if secret_input && self.contacts.len() > contacts && !super::taint::signs_in(rest) {
                self.plain(EffectKind::SecretRead, "environment", false, command, setting);
            }
            self.remember_downloads(gives, rest, plan);
            if matches!(name, "tee" | "sponge") {
                self.remember_copies(rest, plan, &call.input);
            }
            self.texts_of(name, plan, rest, command, call, setting);
            feed = match self.special(name, rest, plan, command, call, setting) {
                Some(feed) => feed,
                None => self.output(name, rest, plan, call),
            };
        }
        if plan.nothing && name == "command" {
            feed = self.output("which", rest, plan, call);
        }
        if plan.silent {
            return Feed { from: command, ..Feed::of_text("") };
        }
        Feed { from: command, source: feed.source.max(source), open: true, ..feed }
    }

    /// Follows the words of a plan that are text to run.
    pub(super) fn texts_of(
        &mut self,
        name: &str,
        plan: &Plan,
        rest: &[Field],
        command: Option<u32>,
        call: &Call,
        setting: &Setting,
    ) {
        for item in &plan.items {
            match item {
                Item::Shell(words) => {
                    let fields: Vec<&Field> = words.iter().filter_map(|at| rest.get(*at)).collect();
                    let text = fields
                        .iter()
                        .map(|field| field.text.as_str())
                        .collect::<Vec<_>>()
                        .join(" ");
                    let Some(first) = fields.first() else { continue };
                    let field = Field {
                        text,
                        known: fields.iter().all(|field| field.known),
                        ..(*first).clone()
                    };
                    self.unseen(field.source, command, setting);
                    let mut inner = Setting {
                        input: call.input.clone(),
                        privileged: setting.privileged || plan.raises(),
                        ..setting.clone()
                    };
                    if let Some(place) = super::elsewhere::place_of_text(name) {
                        inner.place = place;
                    }
                    self.nested(&field, name, &inner);
                }
                Item::Held(role, at, attached) => {
                    if let Some(word) = rest.get(*at) {
                        let field = Field {
                            text: attached.clone().unwrap_or_else(|| word.text.clone()),
                            ..word.clone()
                        };
                        let (input, privileged) =
                            (call.input.clone(), setting.privileged || plan.raises());
                        let mut inner = Setting { input, privileged, ..setting.clone() };
                        if *role == "shell"
                            && let Some(place) = super::elsewhere::place_of_text(name)
                        {
                            inner.place = place;
                        }
                        self.held(role, &field, name, command, &inner);
                    }
                }
                Item::Code(language, at) => {
                    if let Some(field) = rest.get(*at) {
                        self.code(language, field, command, setting);
                    }
                }
                _ => {}
            }
        }
    }

    fn special(
        &mut self,
        name: &str,
        rest: &[Field],
        plan: &Plan,
        command: Option<u32>,
        call: &Call,
        setting: &Setting,
    ) -> Option<Feed> {
        self.launched(name, rest, plan, call, setting);
        self.hand_on(name, rest, plan, call, command, setting);
        self.store_away(name, rest, plan, command, setting);
        if super::databases::is_client(name) {
            self.database(name, rest, plan, command, call, setting);
        }
        match name {
            "rm" => self.remove(rest, plan, command),
            "ssh" | "mosh" | "autossh" => self.typed_there(plan, rest, call, setting),
            "find" | "fd" => return Some(self.find(name, rest, command, call, setting)),
            "dd" => self.copy_blocks(rest, command, setting),
            "tar" | "bsdtar" | "gtar" => self.tar(rest, plan, command, setting),
            "chmod" => self.chmod(rest, plan, command, setting),
            "chown" | "chgrp" => self.whole_tree(rest, plan, command),
            "mv" => {
                self.move_away(rest, plan, command, setting);
                self.fill_folder(rest, plan, command, setting);
            }
            "ln" | "cp" => {
                self.note_links(name, rest, plan);
                self.fill_folder(rest, plan, command, setting);
            }
            "install" => self.fill_folder(rest, plan, command, setting),
            "http" | "https" | "xh" | "xhs" => self.httpie(rest, plan, command, setting),
            "curl" | "curlie" | "wget" | "wget2" => self.curl(rest, plan, command, setting),
            "apply_patch" => self.apply_patch(rest, &call.input, command, setting),
            "git" => self.git(rest, plan, command, setting),
            "docker" | "podman" | "nerdctl" => self.container(rest, plan, command, setting),
            "awk" | "gawk" => self.awk(rest, plan, command, setting),
            "vim" | "vi" | "nvim" | "less" => self.editor(rest, setting),
            "sed" => self.sed(rest, plan, command, setting),
            "scp" | "rsync" => {
                self.copy_far(rest, plan, command, setting);
                self.fill_folder(rest, plan, command, setting);
            }
            "kubectl" | "oc" => self.copy_to_cluster(rest, plan, command, setting),
            "sftp" | "ftp" | "lftp" | "ncftp" | "tftp" | "smbclient" => {
                self.transfer(name, rest, plan, call, command, setting)
            }
            "nc" | "ncat" | "netcat" | "socat" => self.socket(name, rest, command, setting),
            "kill" | "pkill" | "killall"
                if rest.iter().any(|field| matches!(field.text.as_str(), "-1" | "1"))
                    && rest
                        .last()
                        .is_some_and(|field| matches!(field.text.as_str(), "-1" | "1")) =>
            {
                self.out.form("kill-everything", command);
            }
            "at" | "batch" | "crontab" if call.input.text.is_some() => {
                let text = call.input.text.as_deref().unwrap_or("").to_owned();
                if name != "crontab" {
                    self.nested(
                        &Field::plain(
                            &text,
                            rest.first().map_or_else(Default::default, |field| field.span),
                        ),
                        name,
                        &Setting { input: Feed::default(), ..setting.clone() },
                    );
                }
            }
            _ => {}
        }
        None
    }

    fn remove(&mut self, rest: &[Field], plan: &Plan, command: Option<u32>) {
        let force = plan.flags.iter().filter_map(|at| rest.get(*at)).any(|field| {
            field.text == "--force" || (!field.text.starts_with("--") && field.text.contains('f'))
        });
        if rest.iter().any(|field| field.text == "--no-preserve-root") {
            self.out.form("delete-root", command);
        }
        if plan.recursive {
            self.out
                .form(if force { "recursive-force-delete" } else { "recursive-delete" }, command);
        }
    }

    /// Names the files that keep their names in a target folder, if they run by themselves there or
    /// hold credentials.
    fn fill_folder(
        &mut self,
        rest: &[Field],
        plan: &Plan,
        command: Option<u32>,
        setting: &Setting,
    ) {
        let named = rest
            .iter()
            .position(|field| field.text == "-t" || field.text == "--target-directory")
            .and_then(|at| rest.get(at + 1));
        let operands: Vec<&Field> = plan.operands.iter().filter_map(|at| rest.get(*at)).collect();
        let (target, sources) = match (named, operands.split_last()) {
            (Some(folder), _) => (folder, operands.as_slice()),
            (None, Some((target, sources))) if places::remote_path(&target.text).is_none() => {
                (*target, sources)
            }
            _ => return,
        };
        let (folder, known) = places::resolve(&target.text, &self.env.folder);
        let named_itself =
            places::starts_by_itself(&folder, self.home) || places::is_store(&folder, self.home);
        for source in sources.iter().filter(|_| known && target.known && !named_itself) {
            let name = source.text.trim_end_matches('/').rsplit('/').next().unwrap_or("");
            let path = format!("{}/{name}", folder.trim_end_matches('/'));
            let tells =
                places::starts_by_itself(&path, self.home) || places::is_store(&path, self.home);
            if tells && !matches!(name, "" | "." | "..") && !name.contains(UNKNOWN) {
                self.emit(EffectKind::FileModify, path, false, source.known, command, setting);
            }
        }
    }

    fn copy_blocks(&mut self, rest: &[Field], command: Option<u32>, setting: &Setting) {
        for field in rest {
            let Some((key, value)) = field.text.split_once('=') else { continue };
            let kind = match key {
                "if" => EffectKind::FileRead,
                "of" => EffectKind::FileModify,
                _ => continue,
            };
            self.file(
                kind,
                &Field { text: value.to_owned(), ..field.clone() },
                false,
                command,
                setting,
            );
        }
    }

    fn tar(&mut self, rest: &[Field], plan: &Plan, command: Option<u32>, setting: &Setting) {
        let bare = rest.first().filter(|field| !field.text.starts_with('-'));
        let mode = rest
            .iter()
            .filter(|field| field.text.starts_with('-') && !field.text.starts_with("--"))
            .chain(bare)
            .map(|field| field.text.as_str())
            .collect::<String>();
        let long = |flag: &str| rest.iter().any(|field| field.text == flag);
        let archive = match bare {
            Some(bare) => rest.get(bare_value(&bare.text, 'f')),
            None => rest
                .iter()
                .position(|field| field.text.ends_with('f') && field.text.starts_with('-'))
                .and_then(|at| rest.get(at + 1)),
        };
        let files = plan.operands.iter().filter_map(|at| rest.get(*at)).filter(|field| {
            archive.is_none_or(|archive| archive.text != field.text)
                && bare.is_none_or(|bare| bare.text != field.text)
        });
        let (packs, opens) =
            (mode.contains('c') || long("--create"), mode.contains('x') || long("--extract"));
        if packs {
            for field in files {
                self.file(EffectKind::FileRead, field, true, command, setting);
            }
            if let Some(archive) = archive {
                self.file(EffectKind::FileModify, archive, false, command, setting);
            }
        } else if let Some(archive) = archive {
            self.file(EffectKind::FileRead, archive, false, command, setting);
        }
        if opens && !mode.contains('O') {
            let here = Field::plain(".", crate::syntax::Span::default());
            let mark = self.env.mark();
            for folder in unpacked_in(rest) {
                self.env.enter(&folder.text, folder.is_literal(), true);
            }
            self.file(EffectKind::FileCreate, &here, true, command, setting);
            self.env.restore(mark);
        }
    }

    fn chmod(&mut self, rest: &[Field], plan: &Plan, command: Option<u32>, setting: &Setting) {
        let Some(mode) = rest.iter().find(|field| {
            !field.text.starts_with("--")
                && field.text != "-R"
                && field.text != "-v"
                && field.text != "-f"
        }) else {
            return;
        };
        if mode.text.starts_with('-') && mode.text.len() > 1 {
            // A mode that removes permissions looks like a flag; then the first word is a file.
            if let Some(file) = plan.operands.first().and_then(|at| rest.get(*at)) {
                self.file(EffectKind::FileModify, file, plan.recursive, command, setting);
            }
        }
        let text = mode.text.as_str();
        let octal = text.bytes().all(|byte| (b'0'..=b'7').contains(&byte));
        let last = text.chars().next_back().unwrap_or('0');
        if (octal && matches!(last, '2' | '3' | '6' | '7'))
            || (!octal
                && text.contains('w')
                && (text.starts_with(['o', 'a']) || text.starts_with("ugo"))
                && text.contains(['+', '=']))
        {
            self.out.form("chmod-777", command);
        }
        let gives = |part: &str| {
            part.find(['+', '='])
                .and_then(|at| part.get(at..))
                .is_some_and(|bits| bits.contains('s'))
        };
        let sets = if octal {
            text.len() == 4 && text.starts_with(['2', '4', '6', '7'])
        } else {
            text.split(',').any(gives)
        };
        if sets {
            self.out.form("setuid", command);
            self.plain(EffectKind::Privilege, "", false, command, setting);
        }
        self.whole_tree(rest, plan, command);
    }

    fn whole_tree(&mut self, rest: &[Field], plan: &Plan, command: Option<u32>) {
        let top = plan.operands.iter().filter_map(|at| rest.get(*at)).any(|field| {
            let (path, _) = places::resolve(&field.text, &self.env.folder);
            let (_, forms) = places::consequences(&EffectKind::FileDelete, &path, true, self.home);
            !forms.is_empty() && field.text.starts_with(['/', '~'])
        });
        if plan.recursive && top {
            self.out.form("recursive-permissions", command);
        }
    }

    /// Notes a move, which takes everything below a folder with it.
    fn move_away(&mut self, rest: &[Field], plan: &Plan, command: Option<u32>, setting: &Setting) {
        let into = rest
            .iter()
            .any(|field| field.text == "-t" || field.text.starts_with("--target-directory"));
        let sources = plan.operands.len().saturating_sub(usize::from(!into));
        for field in plan.operands.iter().take(sources).filter_map(|at| rest.get(*at)) {
            self.file(EffectKind::FileModify, field, true, command, setting);
        }
        if let Some(target) = plan.operands.get(sources).and_then(|at| rest.get(*at)) {
            self.file(EffectKind::FileModify, target, false, command, setting);
        }
        if plan
            .operands
            .last()
            .and_then(|at| rest.get(*at))
            .is_some_and(|field| field.text.starts_with("/dev/null"))
        {
            for at in plan.operands.iter().rev().skip(1) {
                if let Some(field) = rest.get(*at) {
                    self.file(EffectKind::FileDelete, field, true, command, setting);
                }
            }
        }
    }

    fn awk(&mut self, rest: &[Field], plan: &Plan, command: Option<u32>, setting: &Setting) {
        let Some(code) = plan.operands.first().and_then(|at| rest.get(*at)) else { return };
        if code.text.contains("system(") {
            self.code("awk", code, command, setting);
        }
        for text in super::inline::piped(&code.text) {
            self.nested(&Field { text, ..code.clone() }, "awk", setting);
        }
        if code.text.contains("/inet/") {
            self.plain(EffectKind::Network, "", false, command, setting);
        }
    }

    /// Follows `-c ':!COMMAND'`.
    fn editor(&mut self, rest: &[Field], setting: &Setting) {
        for field in rest {
            if field.text.starts_with([':', '+']) {
                self.prompted(field, setting);
            }
        }
    }

    /// Follows sed: the `e` flag runs the text of a line, `w` writes a file.
    fn sed(&mut self, rest: &[Field], plan: &Plan, command: Option<u32>, setting: &Setting) {
        let script = rest
            .iter()
            .position(|field| field.text == "-e")
            .map_or(plan.operands.first().copied(), |at| Some(at + 1));
        let Some(script) = script.and_then(|at| rest.get(at)) else { return };
        let text = script.text.trim();
        if text == "e"
            || text.starts_with("1e ")
            || text.starts_with("e ")
            || (text.starts_with("s/") && text.ends_with("/e"))
        {
            self.plain(EffectKind::ProcessStart, "", false, command, setting);
        }
        if let Some((_, file)) = text.rsplit_once("/w ") {
            self.file(
                EffectKind::FileModify,
                &Field { text: file.to_owned(), ..script.clone() },
                false,
                command,
                setting,
            );
        }
    }

    fn socket(&mut self, name: &str, rest: &[Field], command: Option<u32>, setting: &Setting) {
        if name == "socat" {
            self.relay(rest, command, setting);
        }
        let runs = rest.iter().any(|field| {
            matches!(field.text.as_str(), "-e" | "-c" | "--exec" | "--sh-exec")
                || field.text.to_ascii_lowercase().contains("exec:")
                || field.text.to_ascii_lowercase().contains("system:")
        });
        if runs {
            self.out.form("remote-shell", command);
            self.plain(EffectKind::UnseenCode, "", false, command, setting);
        }
    }
}

/// Returns the folders that `tar` changes into, one after the other: `-C DIR`, `-xzCDIR`,
/// `--directory=DIR`, `xCf DIR A.tar`.
fn unpacked_in(rest: &[Field]) -> Vec<Field> {
    let mut folders = Vec::new();
    for (at, field) in rest.iter().enumerate() {
        let text = field.text.as_str();
        if at == 0 && !text.starts_with('-') && text.contains('C') {
            folders.extend(rest.get(bare_value(text, 'C')).cloned());
            continue;
        }
        let long = ["--directory=", "--cd="].iter().find_map(|flag| text.strip_prefix(flag));
        let cluster = text.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
        // The text after `f` is the archive's name.
        let short = cluster
            .and_then(|letters| letters.split_once('C'))
            .filter(|(before, _)| !before.contains(['f', 'T', 'X', 'I']));
        match long.or(short.map(|(_, folder)| folder)) {
            Some(folder) if !folder.is_empty() => {
                folders.push(Field { text: folder.to_owned(), ..field.clone() })
            }
            None if !matches!(text, "--directory" | "--cd") => {}
            _ => folders.extend(rest.get(at + 1).cloned()),
        }
    }
    folders
}

/// Returns the index of the word that is the value of a letter in a first word without a dash, as
/// in `xCf DIR A.tar`: values come in the order of their letters.
fn bare_value(letters: &str, letter: char) -> usize {
    let valued =
        letters.chars().take_while(|c| *c != letter).filter(|c| "fCTXbgIKLNV".contains(*c)).count();
    if letters.contains(letter) { 1 + valued } else { usize::MAX }
}
