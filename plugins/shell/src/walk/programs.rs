//! Program behaviour that the tables cannot express: words whose meaning depends on other words.

use super::environment::UNKNOWN;
use super::expand::Field;
use super::feed::{Feed, Piece, Trust};
use super::scripts::{Manner, Passing};
use super::simple::Call;
use super::{Setting, Walker};
use crate::catalogue::{self, Item, Plan};
use crate::places::{self, Place};
use crate::types::{Effect, EffectKind};

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
        let asks = asks_for_help(rest, plan);
        let mut source = call.input.source;
        let mut feed = Feed::default();
        if !plan.nothing && !asks {
            if let Some(feed) = self.builtin(name, rest, plan, command, call, setting) {
                return feed;
            }
            let contacts = self.contacts.len();
            let shown = super::requests::in_plain_sight(name, rest, plan, &call.input);
            let gives = self.effects_of(shown.as_ref().unwrap_or(plan), rest, command, setting);
            // A database of this machine gets its own password, and no data leaves.
            if super::databases::is_client(name) && self.is_here(rest, call, setting) {
                self.contacts.truncate(contacts);
            }
            if gives.trust != Trust::Environment || plan.operands.is_empty() {
                source = source.max(gives);
            }
            let secret_input =
                call.input.source.trust == Trust::Environment || call.input.source.credential;
            if secret_input && self.contacts.len() > contacts && !super::taint::signs_in(rest) {
                self.plain(EffectKind::SecretRead, "environment", false, command, setting);
            }
            source = source.max(self.filtered_source(name, rest, plan));
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
        if feed.text.is_none() && super::setups::prints_setup(name, rest) {
            feed = Feed::of_text(":");
        }
        if feed.text.is_none() && feed.items.is_none() && feed.pieces.is_none() {
            feed.pieces = self.filtered(name, plan, &call.input);
        }
        let made = feed.pieces.as_deref() == Some(&[Piece::Made]);
        if setting.place != Place::Here && !made && feed.pieces != call.input.pieces {
            feed.pieces = None;
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
                Item::Run(language, at) => {
                    if let Some(word) = rest.get(*at) {
                        self.run_word((name, language), word, command, setting);
                    }
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
                Item::Source(family, at) => {
                    if let Some(field) = rest.get(*at) {
                        self.package_source(family, field, command, setting);
                        if *family == "image" {
                            self.note_mounts_of_image(field, rest, setting);
                        }
                    }
                }
                Item::RunSource(family, at) => {
                    if let Some(field) = rest.get(*at) {
                        self.run_from_source(family, field, command, setting);
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
        let starts = |item: &Item| matches!(item, Item::Constant(EffectKind::ProcessStart, _));
        let read = |item: &Item| {
            matches!(item, Item::Shell(_) | Item::Code(..) | Item::Run(..) | Item::Held(..))
        };
        let starts = plan.items.iter().any(starts) || super::followed::is_starter(name);
        if starts && !plan.items.iter().any(read) {
            self.follow_words(name, rest, call, setting);
        }
        self.note_runner(name, rest, command, setting);
        self.package_settings(name, rest, command, setting);
        self.source_addresses(name, rest, plan);
        if name == "watch" {
            let words: Vec<String> = rest.iter().map(|field| field.text.clone()).collect();
            let first = command.and_then(|at| usize::try_from(at).ok()).unwrap_or(usize::MAX);
            self.watched(name, &words, first, setting);
        }
        self.properties(name, rest, command, setting);
        self.note_clone(name, rest, plan, setting);
        self.runs_fetched(name, rest, plan, command, setting);
        self.stop_service(name, rest, plan, call, command, setting);
        self.hand_on(name, rest, plan, call, command, setting);
        self.store_away(name, rest, plan, command, setting);
        self.hunt(name, rest, plan, command, call, setting);
        self.described(name, rest, plan, command, call, setting);
        if super::databases::is_client(name) {
            self.database(name, rest, plan, command, call, setting);
        }
        self.note_dump(name, rest, call);
        match name {
            "rm" => {
                self.remove(rest, plan, command, setting);
                if plan.recursive {
                    self.note_open_targets("rm", rest, plan);
                }
            }
            "pytest" | "py.test" => self.test_files(rest, plan, command, setting),
            "go" => {
                self.generators(rest, plan, command, setting);
                self.compiles(name, rest, command, setting);
            }
            "cargo" => {
                self.build_script(rest, plan, command, setting);
                self.compiles(name, rest, command, setting);
            }
            "rake" => self.rake(rest, plan, command, setting),
            "gradle" | "gradlew" => self.gradle(rest, plan, command, setting),
            "ssh" | "mosh" | "autossh" => self.typed_there(plan, rest, call, command, setting),
            "find" if rest.iter().any(|field| field.text == "-delete") => {
                self.note_open_targets("find", rest, plan);
                return Some(self.find(name, rest, command, call, setting));
            }
            "find" | "fd" | "fdfind" => return Some(self.find(name, rest, command, call, setting)),
            "dd" => self.copy_blocks(rest, &call.input, command, setting),
            "tar" | "bsdtar" | "gtar" => self.tar(rest, plan, command, setting),
            "chmod" => self.chmod(rest, plan, command, setting),
            "chown" | "chgrp" => self.whole_tree(rest, plan, command),
            "mv" => {
                self.move_away(rest, plan, command, setting);
                self.fill_folder(rest, plan, command, setting);
                self.pass_on(Passing::Move, rest, plan);
            }
            "ln" | "link" | "cp" => {
                let how = if name == "cp" { Passing::Copy } else { Passing::Link };
                self.pass_on(how, rest, plan);
                if how == Passing::Copy {
                    self.fill_folder(rest, plan, command, setting);
                }
                self.note_links(name, rest, plan, command, setting);
            }
            "mount" | "bindfs" => self.note_mounts(name, rest, plan, command, setting),
            "umount" | "fusermount" | "fusermount3" => self.forget_mounts(rest, plan),
            "mkdir" => self.sets_mode(rest, plan, command, setting),
            "setfacl" => self.access_list(rest, plan, command, setting),
            "install" => {
                self.sets_mode(rest, plan, command, setting);
                self.pass_on(Passing::Copy, rest, plan);
                self.fill_folder(rest, plan, command, setting);
            }
            "unzip" | "7z" | "7za" | "unrar" => self.unpacked(rest, plan),
            "make" | "gmake" => self.make(rest, plan, &call.input, command, setting),
            "just" => self.just(rest, plan, command, setting),
            "npm" | "pnpm" | "yarn" | "bun" => {
                self.sets_scripts(rest, command);
                self.package_scripts(name, rest, plan, command, setting)
            }
            "deno" => self.deno_task(rest, command, setting),
            "composer" => self.composer_scripts(rest, plan, command, setting),
            "direnv" if rest.first().is_some_and(|field| field.text == "allow") => {
                let path = format!("{}/.envrc", self.env.folder.trim_end_matches('/'));
                let field = rest.first().cloned().unwrap_or_default();
                self.run_script(&field, &path, None, Manner::Interpreted, &[], command, setting);
            }
            "http" | "https" | "xh" | "xhs" => self.httpie(rest, plan, command, setting),
            "curl" | "curlie" | "wget" | "wget2" => {
                self.curl(rest, plan, command, setting);
                self.curl_settings(name, rest, call, command, setting);
            }
            "apply_patch" => self.apply_patch(rest, &call.input, command, setting),
            "gcc" | "cc" | "g++" | "c++" | "clang" | "clang++" | "tcc" | "rustc" | "javac"
            | "java" | "kotlinc" | "scalac" | "scala" | "scala-cli" | "rust-script" => {
                self.compiles(name, rest, command, setting);
            }
            "git" => {
                self.git(rest, plan, command, setting);
                self.git_hooks(rest, plan, command, setting);
            }
            "docker" | "podman" | "nerdctl" => {
                self.container(rest, plan, command, setting);
                self.note_volume(rest, plan, command, setting);
                self.compose(rest, call, command, setting);
                self.image_recipe(rest, plan, command, setting);
            }
            "buildah" => self.image_recipe(rest, plan, command, setting),
            "docker-compose" | "docker compose" | "podman-compose" => {
                self.compose(rest, call, command, setting)
            }
            "awk" | "gawk" | "mawk" | "nawk" => self.awk(rest, plan, command, setting),
            "vim" | "vi" | "nvim" | "less" | "ed" | "ex" => {
                self.editor(rest, call, setting);
                if matches!(name, "ed" | "ex") {
                    self.ed_empties(rest, &call.input, command, setting);
                }
            }
            "ansible" => self.play_module(rest, setting),
            "ansible-playbook" => self.piped_playbook(rest, &call.input, setting),
            "sed" | "gsed" | "ssed" => self.sed(rest, plan, command, setting),
            "scp" | "pscp" | "rcp" | "rsync" => {
                if rest.iter().any(|field| field.text.starts_with("--delete")) {
                    self.note_open_targets("rsync", rest, plan);
                }
                self.pass_on(Passing::Copy, rest, plan);
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
            "at" | "batch" | "crontab" | "systemctl" | "launchctl" => {
                self.scheduled(name, rest, plan, call, command, setting);
            }
            "parallel" if plan.run.is_none() => {
                self.run_lines_of_input(rest, call, command, setting)
            }
            "split" | "csplit" => self.split_up(name, rest, plan, &call.input),
            _ => {}
        }
        None
    }

    fn remove(&mut self, rest: &[Field], plan: &Plan, command: Option<u32>, setting: &Setting) {
        // In a container of the project's own, only what is mounted into it can be lost.
        let own = matches!(&setting.place, Place::Container(name, _) if name.is_empty());
        let loses =
            |effect: &Effect| effect.command == command && effect.kind == EffectKind::FileDelete;
        if own && !self.out.effects.iter().any(loses) {
            return;
        }
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
        let named = super::links::target_folder(rest, plan);
        let operands: Vec<&Field> = plan.operands.iter().filter_map(|at| rest.get(*at)).collect();
        let (target, sources) = match (named.as_ref(), operands.split_last()) {
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

    /// Passes on what is known of files to their copies, links and new names.
    fn pass_on(&mut self, how: Passing, rest: &[Field], plan: &Plan) {
        let named = super::links::target_folder(rest, plan);
        let operands: Vec<&Field> = plan.operands.iter().filter_map(|at| rest.get(*at)).collect();
        let keeps = super::links::has_flag(
            rest,
            plan,
            &['a', 'd', 'P', 'r', 'R'],
            &["--archive", "--no-dereference", "--recursive"],
        );
        if how == Passing::Move || how == Passing::Copy && keeps {
            let sources = match (&named, operands.split_last()) {
                (Some(_), _) => operands.as_slice(),
                (None, last) => last.map_or(&[][..], |(_, sources)| sources),
            };
            let target = named.as_ref().map(|folder| (folder, true));
            let target = target.or(operands.last().map(|last| (*last, false)));
            self.rename_links(sources, target);
        }
        match (named.as_ref(), operands.split_last()) {
            (Some(folder), _) => self.pass_on_files(how, &operands, folder),
            (None, Some((target, sources))) => self.pass_on_files(how, sources, target),
            (None, None) => {}
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
            let (to, _) = places::resolve(&target.text, &self.env.folder);
            for field in plan.operands.iter().take(sources).filter_map(|at| rest.get(*at)) {
                let (from, _) = places::resolve(&field.text, &self.env.folder);
                self.note_moved(&from, &to);
            }
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

    /// Follows `-c ':!COMMAND'`.
    fn editor(&mut self, rest: &[Field], call: &Call, setting: &Setting) {
        if let Some(place) = rest.first() {
            self.typed_in(place, &call.input, setting);
        }
        for field in rest {
            if field.text.starts_with([':', '+']) {
                self.prompted(field, setting);
            }
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

/// Returns true if a call only prints help or a version. Programs that stop reading flags at the
/// first operand treat the flag as another operand: after the files that a call changes, it does
/// not count.
fn asks_for_help(rest: &[Field], plan: &Plan) -> bool {
    if matches!(rest, [only] if matches!(only.text.as_str(), "-v" | "-V" | "-h")) {
        return true;
    }
    let acts = |item: &Item| {
        matches!(
            item,
            Item::Word(
                EffectKind::FileCreate
                    | EffectKind::FileModify
                    | EffectKind::FileDelete
                    | EffectKind::ProcessStop,
                _
            )
        )
    };
    let last = rest.len().checked_sub(1).filter(|at| plan.flags.contains(at));
    last.and_then(|at| rest.get(at))
        .is_some_and(|field| matches!(field.text.as_str(), "--help" | "--version"))
        && !plan.items.iter().any(acts)
}
