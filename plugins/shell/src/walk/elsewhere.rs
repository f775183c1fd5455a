//! Commands that run on another machine or in a container, and the parts of this machine that they
//! still touch.

use super::containers::{bound, read_bind};
use super::environment::UNKNOWN;
use super::expand::Field;
use super::feed::Feed;
use super::output::mounted;
use super::rehearsals::is_earnest;
use super::simple::Call;
use super::{Setting, Walker};
use crate::catalogue::{self, Plan};
use crate::places::{self, Place};
use crate::syntax::Span;
use crate::types::EffectKind;

impl Walker<'_> {
    /// Returns the place where a wrapper runs its command, if it is not here.
    pub(super) fn place(
        &mut self,
        name: &str,
        plan: &Plan,
        rest: &[Field],
        call: &Call,
        setting: &Setting,
    ) -> Option<Place> {
        let operand = plan
            .operands
            .first()
            .and_then(|at| rest.get(*at))
            .map(|field| field.text.clone())
            .unwrap_or_default();
        match catalogue::name_of(name) {
            "ssh" | "mosh" | "autossh" | "sshpass" | "gcloud" | "tsh" | "tailscale" => {
                Some(Place::Host(places::host(&operand).unwrap_or_default()))
            }
            // A cluster's containers hold what others use, unlike one of this machine.
            "kubectl" | "oc" => Some(Place::Host(operand)),
            "vagrant" | "multipass" | "limactl" | "lima" | "colima" | "heroku" | "fly"
            | "flyctl" => Some(Place::Host(catalogue::name_of(name).to_owned())),
            "docker" | "docker compose" | "podman" | "nerdctl" | "lxc" | "finch" | "apptainer"
            | "singularity" | "incus" | "pct" | "buildah" => {
                let verb = plan.subcommand.last().or(plan.operands.first()).copied();
                let flags = rest.get(..verb.unwrap_or(0)).unwrap_or_default();
                if let Some(host) = self.engine_host(flags, call) {
                    return Some(Place::Host(host));
                }
                let own = self.is_own_container(name, &operand, plan, rest);
                // Production is in the project's name or in that of its file.
                let before = rest.get(..plan.operands.first().copied().unwrap_or(0));
                let project =
                    before.unwrap_or_default().iter().find(|field| is_earnest(&field.text));
                let new =
                    matches!(catalogue::name_of(name), "apptainer" | "singularity" | "buildah");
                let named = match project {
                    Some(field) => field.text.clone(),
                    None if own || new => String::new(),
                    None => operand.clone(),
                };
                let shares = matches!(catalogue::name_of(name), "apptainer" | "singularity");
                let mounts = if shares { self.shared_mounts(rest) } else { self.mounts(rest) };
                let mut mounts = mounts.to_vec();
                let entered =
                    self.seen_inside.containers.get(&operand).filter(|_| is_entered(plan, rest));
                mounts.extend(entered.into_iter().flat_map(|known| known.iter().cloned()));
                if is_compose(name, plan, rest) && setting.place == Place::Here {
                    mounts.extend(self.service_mounts(rest, &operand, call, setting));
                }
                Some(Place::Container(named, mounts.into()))
            }
            _ => None,
        }
    }

    /// Returns true for a container that this call or this command line makes: what is lost in it
    /// was not there before, unless a volume or the machine is.
    fn is_own_container(&self, name: &str, operand: &str, plan: &Plan, rest: &[Field]) -> bool {
        let engines = ["docker", "podman", "nerdctl", "finch"];
        let verb = plan.subcommand.last().and_then(|at| rest.get(*at));
        match verb.map_or("", |field| field.text.as_str()) {
            "exec" if is_compose(name, plan, rest) => works_in_its_own(rest),
            _ if !engines.contains(&catalogue::name_of(name)) => false,
            "run" => is_apart(plan, rest),
            "exec" => {
                self.made.contains(operand) || !is_earnest(operand) && empties_scratch(plan, rest)
            }
            _ => false,
        }
    }

    /// Remembers a container that a call makes, by its name.
    fn note_made(&mut self, plan: &Plan, rest: &[Field]) {
        let verb = plan.subcommand.last().and_then(|at| rest.get(*at));
        let makes = verb.is_some_and(|field| matches!(field.text.as_str(), "run" | "create"));
        let at = rest.iter().position(|field| field.text == "--name");
        let given = at.and_then(|at| rest.get(at + 1)).map(|field| field.text.as_str());
        let name = given.or_else(|| rest.iter().find_map(|f| f.text.strip_prefix("--name=")));
        let Some(name) = name.filter(|_| makes) else { return };
        let mounts = self.mounts(rest);
        self.note_container(name, &mounts);
        if is_apart(plan, rest) {
            self.made.insert(name.to_owned());
        }
    }

    /// Returns the folder that a container's command begins in.
    pub(super) fn folder_inside(&self, rest: &[Field]) -> String {
        let at = rest.iter().position(|field| matches!(field.text.as_str(), "-w" | "--workdir"));
        let given = at.and_then(|at| rest.get(at + 1)).map(|field| field.text.as_str());
        let attached = rest.iter().find_map(|field| field.text.strip_prefix("--workdir="));
        given
            .or(attached)
            .filter(|path| path.starts_with('/'))
            .map_or_else(|| format!("/{UNKNOWN}"), str::to_owned)
    }

    /// Returns true for a path in a container that is not part of this machine.
    pub(super) fn is_inside(&self, path: &str, place: &Place) -> bool {
        matches!(place, Place::Container(_, mounts) if mounted(path, mounts).is_none())
    }

    /// Returns the command of a container whose entry point is a shell:
    /// `--entrypoint sh IMAGE -c TEXT`.
    pub(super) fn entry_point(&self, rest: &[Field]) -> Option<Field> {
        let at = rest.iter().position(|field| field.text == "--entrypoint");
        let given = at.and_then(|at| rest.get(at + 1)).map(|field| field.text.as_str());
        let name = given
            .or_else(|| rest.iter().find_map(|field| field.text.strip_prefix("--entrypoint=")))?;
        Some(Field::plain(name, rest.first().map_or_else(Span::default, |field| field.span)))
    }

    /// Follows a shell on another machine that reads its commands from here.
    pub(super) fn typed_there(
        &mut self,
        plan: &Plan,
        rest: &[Field],
        call: &Call,
        command: Option<u32>,
        setting: &Setting,
    ) {
        let place = self.place("ssh", plan, rest, call, setting);
        let Some(place) = place.filter(|_| plan.run.is_none()) else { return };
        let span = rest.first().map_or_else(Span::default, |field| field.span);
        let inner = Setting { place, input: Feed::default(), ..setting.clone() };
        let known = call.input.text.as_deref().map(str::to_owned);
        let Some(text) = known.or_else(|| call.input.items.clone()) else {
            return self.run_input(call, span, command, &inner);
        };
        self.nested(
            &Field { source: call.input.source, ..Field::plain(&text, span) },
            "ssh",
            &inner,
        );
    }

    /// Notes the access to this machine that a container gets: power over all of it, or folders
    /// that the machine depends on.
    pub(super) fn container(
        &mut self,
        rest: &[Field],
        plan: &Plan,
        command: Option<u32>,
        setting: &Setting,
    ) {
        // The words after the image are the container's own command.
        let image = plan.operands.first().copied().unwrap_or(rest.len());
        let flags = rest.get(..image).unwrap_or_default();
        let folder = self.env.folder.clone();
        let here = |text: &str| Some(places::resolve(&read_bind(text)?.here, &folder).0);
        for path in bound(flags).filter_map(here).collect::<Vec<_>>() {
            self.note_exposed(&path, command, setting);
        }
        self.note_made(plan, rest);
        self.image(rest, plan, command, setting);
        // The last one counts; the client refuses a value that is not a boolean.
        let privileged =
            flags.iter().rev().find_map(|field| field.text.strip_prefix("--privileged"));
        if privileged.is_some_and(|value| {
            matches!(value, "" | "=1" | "=t" | "=T" | "=true" | "=True" | "=TRUE")
                || value.contains(UNKNOWN)
        }) {
            self.out.form("container-escape", command);
            self.plain(EffectKind::Privilege, "", false, command, setting);
        }
    }

    /// Follows an image named like a program: it runs that program with the words after it, unless
    /// they begin with another program's name.
    fn image(&mut self, rest: &[Field], plan: &Plan, command: Option<u32>, setting: &Setting) {
        let is_run = plan
            .subcommand
            .last()
            .and_then(|at| rest.get(*at))
            .is_some_and(|field| matches!(field.text.as_str(), "run" | "create"));
        let Some(at) = plan.operands.first().filter(|_| is_run) else { return };
        let Some((image, words)) = rest.get(*at..).and_then(<[Field]>::split_first) else { return };
        let program = super::names::of_package(&image.text).unwrap_or_else(|| image.text.clone());
        let texts: Vec<&str> = words.iter().map(|field| field.text.as_str()).collect();
        let other = texts.first().is_some_and(|word| catalogue::find(word, &[]).is_some());
        if let Some(found) = catalogue::find(&program, &texts).filter(|_| !other) {
            let place = Place::Container(image.text.clone(), self.mounts(rest));
            let inside = Setting { place, ..setting.clone() };
            if words.is_empty() {
                self.effects_of(&catalogue::plan(&found, &texts), words, command, &inside);
                return;
            }
            let first = Field { text: program, ..image.clone() };
            let fields: Vec<Field> = [first].into_iter().chain(words.iter().cloned()).collect();
            self.run(&fields, &Call::default(), &inside);
        }
    }
}

/// Returns true for a call that runs something in a container which is there already.
fn is_entered(plan: &Plan, rest: &[Field]) -> bool {
    let verb = plan.subcommand.last().and_then(|at| rest.get(*at));
    verb.is_some_and(|field| matches!(field.text.as_str(), "attach" | "exec"))
}

/// Returns true for a call of a project's own set of containers, on this machine.
pub(super) fn is_compose(name: &str, plan: &Plan, rest: &[Field]) -> bool {
    const AWAY: &[&str] = &["-H", "--host", "-c", "--context", "--privileged"];
    let before = plan.operands.first().copied().unwrap_or(rest.len());
    let flags = rest.get(..before).unwrap_or_default();
    let away = |field: &Field| {
        AWAY.iter().any(|flag| field.text == *flag || field.text.starts_with(&format!("{flag}=")))
            || field.text.contains("prod")
    };
    let named = plan.subcommand.iter().filter_map(|at| rest.get(*at));
    let compose = name.contains("compose") || named.into_iter().any(|f| f.text == "compose");
    compose && !flags.iter().any(away)
}

/// Returns true if a command's paths are those of an application's own files in its container,
/// which are those of its image or of the project, not of a volume with data.
fn works_in_its_own(rest: &[Field]) -> bool {
    const OWN: &[&str] = &["/app/", "/code/", "/tmp/", "/usr/src/", "/var/cache/", "/workspace/"];
    let mut words = rest.iter().flat_map(|field| field.text.split([' ', '=', ';']));
    let known = rest.iter().all(|field| field.known);
    known
        && words.all(|word| {
            let named = OWN
                .iter()
                .any(|folder| word.strip_prefix(folder).is_some_and(|rest| rest.len() > 1));
            !word.starts_with('/') && !word.contains("..") || named && !word.contains("..")
        })
}

/// Returns true if a command in a container only deletes what its application makes again by itself.
fn empties_scratch(plan: &Plan, rest: &[Field]) -> bool {
    const PROGRAMS: &[&str] = &["ash", "bash", "rm", "rmdir", "sh"];
    const FOLDERS: &[&str] = &["/tmp/", "/var/cache/", "/var/tmp/"];
    const NAMES: &[&str] = &[
        ".cache",
        ".mypy_cache",
        ".next",
        ".nuxt",
        ".parcel-cache",
        ".pytest_cache",
        ".ruff_cache",
        ".turbo",
        "__pycache__",
        "build",
        "cache",
        "coverage",
        "dist",
        "node_modules",
        "target",
        "temp",
        "tmp",
    ];
    let after = plan.run.and_then(|at| rest.get(at..)).unwrap_or_default();
    let scratch = |word: &str| {
        let named = word.split('/').any(|part| NAMES.contains(&part));
        let below = FOLDERS.iter().any(|start| word.len() > start.len() && word.starts_with(start));
        (named || below) && word.bytes().all(|b| b.is_ascii_alphanumeric() || b"/._-*".contains(&b))
    };
    let mut words = after.iter().flat_map(|field| field.text.split([' ', ';', '&']));
    !after.is_empty()
        && after.iter().all(|field| field.known)
        && words.all(|word| {
            let plain = word.is_empty() || word.starts_with('-') || PROGRAMS.contains(&word);
            plain || scratch(word) && !word.contains("..")
        })
}

/// Returns true for a container that shares nothing with others or with the machine but folders
/// that its call names.
fn is_apart(plan: &Plan, rest: &[Field]) -> bool {
    let image = plan.operands.first().copied().unwrap_or(rest.len());
    let flags = rest.get(..image).unwrap_or_default();
    let shares = |field: &Field| {
        let start = |name: &&str| field.text.starts_with(*name);
        ["--privileged", "--pid", "--ipc", "--volumes-from", "--device", "--cap-add", "--userns"]
            .iter()
            .any(start)
            || field.text.contains("type=volume")
            || field.text.contains(UNKNOWN)
    };
    let is_path = |here: &str| here.starts_with(['/', '.', '~']);
    !flags.iter().any(shares) && bound(flags).filter_map(read_bind).all(|bind| is_path(&bind.here))
}

/// Returns true for a program that joins its words, for a shell there to read them again.
pub(super) fn joins_words(name: &str) -> bool {
    let joins = ["ssh", "mosh", "autossh", "sshpass", "gcloud", "heroku", "tsh", "tailscale"];
    joins.contains(&catalogue::name_of(name))
}

/// Returns the place where a program runs the text that one of its options holds, if it is not
/// here: `vagrant ssh -c TEXT`.
pub(super) fn place_of_text(name: &str) -> Option<Place> {
    match name {
        "ansible" => Some(Place::Host("hosts".to_owned())),
        _ if MANY.contains(&name) => Some(Place::Host("servers".to_owned())),
        "vagrant" | "fly" | "flyctl" | "gcloud" | "aws" | "az" | "doctl" => {
            Some(Place::Host(name.to_owned()))
        }
        _ => None,
    }
}

/// Programs that run one text on many machines.
const MANY: &[&str] = &[
    "clush",
    "dancer",
    "dsh",
    "fab",
    "mpssh",
    "orgalorg",
    "parallel-nuke",
    "parallel-ssh",
    "pdsh",
    "pnuke",
    "pssh",
    "salt",
    "salt-ssh",
    "sshpt",
    "tentakel",
    "xpanes",
];
