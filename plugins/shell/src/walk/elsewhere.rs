//! Commands that run on another machine or in a container, and the parts of this machine that they
//! still touch.

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
use std::rc::Rc;

/// The maximum number of mounted folders of one container.
const MOUNTS: usize = 16;

impl Walker<'_> {
    /// Returns the place where a wrapper runs its command, if it is not here.
    pub(super) fn place(
        &self,
        name: &str,
        plan: &Plan,
        rest: &[Field],
        call: &Call,
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
            "docker" | "podman" | "nerdctl" | "lxc" | "docker-compose" | "finch" | "apptainer"
            | "singularity" | "incus" | "pct" => {
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
                let named = match project {
                    Some(field) => field.text.clone(),
                    None if own => String::new(),
                    None => operand,
                };
                Some(Place::Container(named, self.mounts(rest)))
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
        if let Some(name) = name.filter(|_| makes && is_apart(plan, rest)) {
            self.made.insert(name.to_owned());
        }
    }

    /// Returns the mounts from this machine, by the path inside.
    fn mounts(&self, rest: &[Field]) -> Rc<[(String, String)]> {
        let mut mounts = Vec::new();
        for (here, inside) in bound(rest).filter_map(bind).take(MOUNTS) {
            let (path, certain) = places::resolve(here, &self.env.folder);
            if (here.starts_with(['/', '.', '~']) || here.contains(UNKNOWN))
                && !path.is_empty()
                && certain
            {
                mounts.push((inside.to_owned(), path));
            }
        }
        mounts.into()
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
        let Some(place) = self.place("ssh", plan, rest, call).filter(|_| plan.run.is_none()) else {
            return;
        };
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
        for mount in bound(flags).filter_map(bind).map(|(here, _)| here) {
            let (path, _) = places::resolve(mount, &self.env.folder);
            let of_machine = !path.starts_with("/tmp/") && !self.is_project(&path);
            let socket = of_machine && SOCKETS.iter().any(|end| path.ends_with(end));
            if socket || FOLDERS.contains(&path.as_str()) {
                self.out.form("container-escape", command);
                self.plain(EffectKind::Privilege, &path, true, command, setting);
            }
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
            self.effects_of(
                &catalogue::plan(&found, &texts),
                words,
                command,
                &Setting { place, ..setting.clone() },
            );
        }
    }
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
    !flags.iter().any(shares) && bound(flags).filter_map(bind).all(|(here, _)| is_path(here))
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

/// Write access below these as root is control of the machine.
pub(super) const FOLDERS: &[&str] =
    &["/", "/etc", "/root", "/proc", "/sys", "/dev", "/home", "/boot", "/usr"];
/// Sockets through which a program can start containers of its own.
pub(super) const SOCKETS: &[&str] =
    &["/docker.sock", "/containerd.sock", "/podman.sock", "/crio.sock"];

/// Returns the values of the flags that mount something: `-v VALUE`, `-v=VALUE`, `-vVALUE`,
/// `-itv VALUE`, `--mount VALUE`.
fn bound(rest: &[Field]) -> impl Iterator<Item = &str> {
    let befores = std::iter::once("").chain(rest.iter().map(|field| field.text.as_str()));
    befores.zip(rest).filter_map(|(before, field)| {
        let letters = |text: &str| {
            text.len() <= 6
                && text
                    .strip_prefix('-')
                    .is_some_and(|all| all.bytes().all(|byte| byte.is_ascii_alphabetic()))
        };
        if matches!(before, "--volume" | "--mount" | "-B" | "--bind")
            || (letters(before) && before.ends_with('v'))
        {
            return Some(field.text.as_str());
        }
        let attached = ["--volume=", "--mount=", "--bind=", "-v", "-B"]
            .iter()
            .find_map(|flag| field.text.strip_prefix(flag));
        attached.map(|value| value.trim_start_matches('=')).filter(|value| !value.is_empty())
    })
}

/// Returns the two sides of `HERE:INSIDE[:OPTIONS]` and of `type=bind,source=HERE,target=INSIDE`.
fn bind(text: &str) -> Option<(&str, &str)> {
    if text.contains("target=") || text.contains("dst=") || text.contains("destination=") {
        let part = |names: &[&str]| {
            text.split(',').find_map(|part| names.iter().find_map(|name| part.strip_prefix(name)))
        };
        return Some((part(&["source=", "src="])?, part(&["target=", "dst=", "destination="])?));
    }
    let mut parts = text.split(':');
    Some((parts.next()?, parts.next()?))
}
