//! What the tables cannot say of a program: words whose meaning hangs on other words.

use super::expand::Field;
use super::feed::{Feed, Trust};
use super::simple::Call;
use super::{Setting, Walker};
use crate::catalogue::{self, Item, Plan};
use crate::places::{self, Place};
use crate::types::EffectKind;

impl Walker<'_> {
    /// A program that the tables know; what it prints.
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
        let asks = rest.last().is_some_and(|field| field.text == "--help" || field.text == "--version")
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
            let told = call.input.source.trust == Trust::Environment || call.input.source.credential;
            if told && self.contacts.len() > contacts && !super::taint::signs_in(rest) {
                self.plain(EffectKind::SecretRead, "environment", false, command, setting);
            }
            self.remember_downloads(gives, rest, plan);
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

    /// The words of a plan that are text to run.
    fn texts_of(&mut self, name: &str, plan: &Plan, rest: &[Field], command: Option<u32>, call: &Call, setting: &Setting) {
        for item in &plan.items {
            match item {
                Item::Shell(words) => {
                    let fields: Vec<&Field> = words.iter().filter_map(|at| rest.get(*at)).collect();
                    let text = fields.iter().map(|field| field.text.as_str()).collect::<Vec<_>>().join(" ");
                    let Some(first) = fields.first() else { continue };
                    let field = Field { text, known: fields.iter().all(|field| field.known), ..(*first).clone() };
                    self.unseen(field.source, command, setting);
                    let mut inner =
                        Setting { input: call.input.clone(), privileged: setting.privileged || plan.raises(), ..setting.clone() };
                    if name == "ansible" {
                        inner.place = Place::Host("hosts".to_owned());
                    }
                    self.nested(&field, name, &inner);
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

    fn special(&mut self, name: &str, rest: &[Field], plan: &Plan, command: Option<u32>, call: &Call, setting: &Setting) -> Option<Feed> {
        self.launched(name, rest, plan, call, setting);
        if super::databases::is_client(name) {
            self.database(name, rest, plan, command, call, setting);
        }
        match name {
            "rm" => self.remove(rest, plan, command),
            "ssh" | "mosh" | "autossh" => self.typed_there(plan, rest, call, setting),
            "find" | "fd" => return Some(self.find(name, rest, command, call, setting)),
            "dd" => self.copy_blocks(rest, command, setting),
            "tar" => self.tar(rest, plan, command, setting),
            "chmod" => self.chmod(rest, plan, command, setting),
            "chown" | "chgrp" => self.whole_tree(rest, plan, command),
            "mv" => self.move_away(rest, plan, command, setting),
            "ln" | "cp" => self.note_links(name, rest, plan),
            "http" | "https" | "xh" | "xhs" => self.httpie(rest, plan, command, setting),
            "curl" | "curlie" | "wget" | "wget2" => self.curl(rest, plan, command, setting),
            "apply_patch" => self.apply_patch(rest, &call.input, command, setting),
            "git" => self.git(rest, plan, command, setting),
            "docker" | "podman" | "nerdctl" => self.container(rest, plan, command, setting),
            "awk" | "gawk" => self.awk(rest, plan, command, setting),
            "vim" | "vi" | "nvim" => self.editor(rest, setting),
            "sed" => self.sed(rest, plan, command, setting),
            "scp" | "rsync" | "sftp" => self.copy_far(rest, plan, command, setting),
            "nc" | "ncat" | "socat" => self.socket(rest, command, setting),
            "kill" | "pkill" | "killall"
                if rest.iter().any(|field| matches!(field.text.as_str(), "-1" | "1"))
                    && rest.last().is_some_and(|field| matches!(field.text.as_str(), "-1" | "1")) =>
            {
                self.out.form("kill-everything", command);
            }
            "at" | "batch" | "crontab" if call.input.text.is_some() => {
                let text = call.input.text.as_deref().unwrap_or("").to_owned();
                if name != "crontab" {
                    self.nested(
                        &Field::plain(&text, rest.first().map_or_else(Default::default, |field| field.span)),
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
        let force = plan
            .flags
            .iter()
            .filter_map(|at| rest.get(*at))
            .any(|field| field.text == "--force" || (!field.text.starts_with("--") && field.text.contains('f')));
        if rest.iter().any(|field| field.text == "--no-preserve-root") {
            self.out.form("delete-root", command);
        }
        if plan.recursive {
            self.out.form(if force { "recursive-force-delete" } else { "recursive-delete" }, command);
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
            self.file(kind, &Field { text: value.to_owned(), ..field.clone() }, false, command, setting);
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
        let archive = rest
            .iter()
            .position(|field| {
                field.text.ends_with('f') && (field.text.starts_with('-') || bare.is_some_and(|bare| bare.text == field.text))
            })
            .and_then(|at| rest.get(at + 1));
        let files =
            plan.operands.iter().filter_map(|at| rest.get(*at)).filter(|field| {
                archive.is_none_or(|archive| archive.text != field.text) && bare.is_none_or(|bare| bare.text != field.text)
            });
        let (packs, opens) = (mode.contains('c') || long("--create"), mode.contains('x') || long("--extract"));
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
            let folder =
                rest.iter().position(|field| field.text == "-C" || field.text == "--directory").and_then(|at| rest.get(at + 1)).cloned();
            self.file(
                EffectKind::FileCreate,
                &folder.unwrap_or_else(|| Field::plain(".", crate::syntax::Span::default())),
                true,
                command,
                setting,
            );
        }
        for field in
            rest.iter().filter(|field| field.text.starts_with("--checkpoint-action=exec=") || field.text.starts_with("--to-command="))
        {
            let text = field.text.rsplit('=').next().unwrap_or("").to_owned();
            self.nested(&Field { text, ..field.clone() }, "tar", setting);
        }
    }

    fn chmod(&mut self, rest: &[Field], plan: &Plan, command: Option<u32>, setting: &Setting) {
        let Some(mode) =
            rest.iter().find(|field| !field.text.starts_with("--") && field.text != "-R" && field.text != "-v" && field.text != "-f")
        else {
            return;
        };
        if mode.text.starts_with('-') && mode.text.len() > 1 {
            // A mode that takes rights away looks like a flag, and the first word is a file then.
            if let Some(file) = plan.operands.first().and_then(|at| rest.get(*at)) {
                self.file(EffectKind::FileModify, file, plan.recursive, command, setting);
            }
        }
        let text = mode.text.as_str();
        let octal = text.bytes().all(|byte| (b'0'..=b'7').contains(&byte));
        let last = text.chars().next_back().unwrap_or('0');
        if (octal && matches!(last, '2' | '3' | '6' | '7'))
            || (!octal && text.contains('w') && (text.starts_with(['o', 'a']) || text.starts_with("ugo")) && text.contains(['+', '=']))
        {
            self.out.form("chmod-777", command);
        }
        let gives = |part: &str| part.find(['+', '=']).and_then(|at| part.get(at..)).is_some_and(|bits| bits.contains('s'));
        let sets = if octal { text.len() == 4 && text.starts_with(['2', '4', '6', '7']) } else { text.split(',').any(gives) };
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

    /// What is moved is moved whole.
    fn move_away(&mut self, rest: &[Field], plan: &Plan, command: Option<u32>, setting: &Setting) {
        let into = rest.iter().any(|field| field.text == "-t" || field.text.starts_with("--target-directory"));
        let sources = plan.operands.len().saturating_sub(usize::from(!into));
        for field in plan.operands.iter().take(sources).filter_map(|at| rest.get(*at)) {
            self.file(EffectKind::FileModify, field, true, command, setting);
        }
        if let Some(target) = plan.operands.get(sources).and_then(|at| rest.get(*at)) {
            self.file(EffectKind::FileModify, target, false, command, setting);
        }
        if plan.operands.last().and_then(|at| rest.get(*at)).is_some_and(|field| field.text.starts_with("/dev/null")) {
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

    /// `-c ':!COMMAND'`
    fn editor(&mut self, rest: &[Field], setting: &Setting) {
        for field in rest {
            if let Some(text) = field.text.trim_start_matches(':').strip_prefix('!') {
                self.nested(&Field { text: text.to_owned(), ..field.clone() }, "vim", setting);
            }
        }
    }

    /// The `e` flag runs what a line holds, `w` writes a file.
    fn sed(&mut self, rest: &[Field], plan: &Plan, command: Option<u32>, setting: &Setting) {
        let script = rest.iter().position(|field| field.text == "-e").map_or(plan.operands.first().copied(), |at| Some(at + 1));
        let Some(script) = script.and_then(|at| rest.get(at)) else { return };
        let text = script.text.trim();
        if text == "e" || text.starts_with("1e ") || text.starts_with("e ") || (text.starts_with("s/") && text.ends_with("/e")) {
            self.plain(EffectKind::ProcessStart, "", false, command, setting);
        }
        if let Some((_, file)) = text.rsplit_once("/w ") {
            self.file(EffectKind::FileModify, &Field { text: file.to_owned(), ..script.clone() }, false, command, setting);
        }
    }

    /// Copies from and to other machines; a word with a host in it is there, all others are here.
    fn copy_far(&mut self, rest: &[Field], plan: &Plan, command: Option<u32>, setting: &Setting) {
        let operands: Vec<&Field> = plan.operands.iter().filter_map(|at| rest.get(*at)).collect();
        let count = operands.len();
        for (index, field) in operands.into_iter().enumerate() {
            if let Some(host) = places::remote_path(&field.text) {
                self.plain(EffectKind::Network, &host, true, command, setting);
                if index + 1 == count && count > 1 {
                    self.plain(EffectKind::RemoteChange, &host, true, command, setting);
                }
            } else if index + 1 == count && count > 1 {
                self.file(EffectKind::FileModify, field, true, command, setting);
            } else {
                self.file(EffectKind::FileRead, field, true, command, setting);
            }
        }
        let deletes =
            plan.flags.iter().filter_map(|at| rest.get(*at)).any(|field| field.text.starts_with("--delete") || field.text == "--del");
        if deletes && let Some(target) = plan.operands.last().and_then(|at| rest.get(*at)) {
            self.out.form("mirror-delete", command);
            if places::remote_path(&target.text).is_none() {
                self.file(EffectKind::FileDelete, target, true, command, setting);
            }
        }
    }

    fn socket(&mut self, rest: &[Field], command: Option<u32>, setting: &Setting) {
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
