//! Folders of this machine that containers see: the mounts of a call, those of a container that the
//! line made before, and those of the services in a compose file, with the commands of these.

use super::environment::UNKNOWN;
use super::expand::Field;
use super::routines::quoted;
use super::simple::Call;
use super::{Setting, Walker};
use crate::autoruns::{Node, read_tree};
use crate::catalogue::Plan;
use crate::places::{self, Mount, Place};
use crate::types::EffectKind;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The maximum number of mounted folders of one container.
const MOUNTS: usize = 32;
/// The maximum number of services, of their commands, and of containers that a line makes.
const SERVICES: usize = 64;
const COMMANDS: usize = 16;
const CONTAINERS: usize = 64;
/// The files that compose reads by themselves: one of the first, and one of the second.
const FILES: &[&str] =
    &["compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml"];
const MORE_FILES: &[&str] = &[
    "compose.override.yaml",
    "compose.override.yml",
    "docker-compose.override.yml",
    "docker-compose.override.yaml",
];

/// Write access below these as root is control of the machine.
pub(super) const FOLDERS: &[&str] =
    &["/", "/etc", "/root", "/proc", "/sys", "/dev", "/home", "/boot", "/usr"];
/// Sockets through which a program can start containers of its own.
pub(super) const SOCKETS: &[&str] =
    &["/docker.sock", "/containerd.sock", "/podman.sock", "/crio.sock"];

/// The folders of this machine that the containers of a line see.
#[derive(Default)]
pub(super) struct SeenInside {
    /// The mounts of containers that the line makes, by name.
    pub containers: BTreeMap<String, Rc<[Mount]>>,
    /// The folders that volumes stand for, by name.
    pub volumes: BTreeMap<String, String>,
}

/// A service of a compose file.
#[derive(Clone, Debug, Default)]
pub(super) struct Service {
    name: String,
    /// The name of its container, if it has one of its own.
    container: Option<String>,
    mounts: Vec<Mount>,
    commands: Vec<String>,
    folder: Option<String>,
}

impl Walker<'_> {
    /// Returns the mounts of a call, by the path inside.
    pub(super) fn mounts(&self, rest: &[Field]) -> Rc<[Mount]> {
        let folder = self.env.folder.clone();
        let binds = bound(rest).filter_map(read_bind).take(MOUNTS);
        binds.filter_map(|bind| self.mount_of(bind, &folder)).collect()
    }

    /// Returns the folders that a container sees as they are, and those that its call adds:
    /// `--bind HERE[:INSIDE[:OPTIONS]],...`.
    pub(super) fn shared_mounts(&self, rest: &[Field]) -> Rc<[Mount]> {
        let folder = self.env.folder.clone();
        let same = [self.home.to_owned(), folder.clone(), "/tmp".to_owned()];
        let same = same.into_iter().filter(|path| !path.is_empty() && !path.contains(UNKNOWN));
        let same = same.map(|path| Mount { inside: path.clone(), here: path, read_only: false });
        let listed = bound(rest).flat_map(|list| list.split(','));
        let binds = listed.take(MOUNTS).filter_map(|bind| {
            let alone = !bind.contains(':');
            read_bind(&if alone { format!("{bind}:{bind}") } else { bind.to_owned() })
        });
        let given = binds.filter_map(|bind| self.mount_of(bind, &folder));
        same.chain(given).collect()
    }

    /// Returns a mount, unless it is a volume of which nothing is known, or nothing of this machine.
    fn mount_of(&self, bind: Bind, folder: &str) -> Option<Mount> {
        let Bind { here, inside, read_only } = bind;
        let (inside, _) = places::resolve(&inside, "/");
        if here.contains(UNKNOWN) {
            return Some(Mount { inside, here: UNKNOWN.to_string(), read_only });
        }
        if !here.starts_with(['/', '.', '~']) {
            let here = self.seen_inside.volumes.get(&here)?.clone();
            return Some(Mount { inside, here, read_only });
        }
        let here = match here.strip_prefix('~').filter(|_| !self.home.is_empty()) {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => {
                format!("{}{rest}", self.home)
            }
            _ => here,
        };
        let (path, certain) = places::resolve(&here, folder);
        let here = if certain && !path.is_empty() { path } else { UNKNOWN.to_string() };
        Some(Mount { inside, here, read_only })
    }

    /// Remembers the mounts of a container that has a name.
    pub(super) fn note_container(&mut self, name: &str, mounts: &Rc<[Mount]>) {
        if self.seen_inside.containers.len() < CONTAINERS {
            self.seen_inside.containers.insert(name.to_owned(), Rc::clone(mounts));
        } else {
            self.out.limit("more containers than are followed");
        }
    }

    /// Remembers a volume that stands for a folder of this machine, and notes the access to it:
    /// `docker volume create -o device=/opt -o o=bind NAME`.
    pub(super) fn note_volume(
        &mut self,
        rest: &[Field],
        plan: &Plan,
        command: Option<u32>,
        setting: &Setting,
    ) {
        let words = |at: &usize| rest.get(*at).map(|field| field.text.as_str());
        if !plan.subcommand.iter().filter_map(words).eq(["volume", "create"]) {
            return;
        }
        let name = plan.operands.first().and_then(|at| rest.get(*at));
        let device = rest.iter().find_map(|field| {
            let option =
                field.text.strip_prefix("--opt=").or_else(|| field.text.strip_prefix("-o"));
            option.unwrap_or(&field.text).strip_prefix("device=").map(str::to_owned)
        });
        let Some(device) = device else { return };
        let (path, certain) = places::resolve(&device, &self.env.folder);
        let here = if certain { path } else { UNKNOWN.to_string() };
        self.note_exposed(&here, command, setting);
        if let Some(name) = name {
            self.seen_inside.volumes.insert(name.text.clone(), here);
        }
    }

    /// Notes a folder or a socket of this machine that gives a container power over all of it.
    pub(super) fn note_exposed(&mut self, path: &str, command: Option<u32>, setting: &Setting) {
        let of_machine = !path.starts_with("/tmp/") && !self.is_project(path);
        let socket = of_machine && SOCKETS.iter().any(|end| path.ends_with(end));
        if socket || FOLDERS.contains(&path) {
            self.out.form("container-escape", command);
            self.plain(EffectKind::Privilege, path, true, command, setting);
        }
    }

    /// Reads the services that a call of compose is about: their rights, and with `runs` their
    /// commands.
    pub(super) fn compose(
        &mut self,
        rest: &[Field],
        call: &Call,
        command: Option<u32>,
        setting: &Setting,
    ) {
        const STARTS: &[&str] = &["create", "restart", "run", "start", "up", "watch"];
        let words: Vec<&str> = rest.iter().map(|field| field.text.as_str()).collect();
        let is_compose = self.program_of(command).is_some_and(|name| name.ends_with("compose"))
            || words.first() == Some(&"compose");
        if !is_compose || !words.iter().any(|word| STARTS.contains(word)) {
            return;
        }
        let span = rest.first().map_or_else(Default::default, |field| field.span);
        for (path, text) in self.compose_files(rest, call, command, setting) {
            self.note_rights(&path, &text, command, setting);
            for service in self.services_of(&path, &text) {
                let mounts: Rc<[Mount]> = service.mounts.clone().into();
                for mount in mounts.iter().filter(|mount| !mount.here.contains(UNKNOWN)) {
                    self.note_exposed(&mount.here, command, setting);
                }
                if let Some(name) = &service.container {
                    self.note_container(name, &mounts);
                }
                let place = Place::Container(String::new(), mounts);
                let inside = Setting { place, ..setting.clone() };
                let mark = self.env.mark();
                self.env.folder = service.folder.clone().unwrap_or_else(|| format!("/{UNKNOWN}"));
                let part = format!("service {}", service.name);
                let file = (path.as_str(), &text);
                self.run_lines(file, &part, &service.commands, None, span, command, &inside);
                self.env.restore(mark);
            }
        }
    }

    /// Returns the mounts of a service that a call of compose runs or enters.
    pub(super) fn service_mounts(
        &mut self,
        rest: &[Field],
        service: &str,
        call: &Call,
        setting: &Setting,
    ) -> Vec<Mount> {
        let mut mounts = Vec::new();
        for (path, text) in self.compose_files(rest, call, None, setting) {
            let services = self.services_of(&path, &text);
            let own = services.into_iter().filter(|known| known.name == service);
            mounts.extend(own.flat_map(|known| known.mounts));
        }
        mounts.truncate(MOUNTS);
        mounts
    }

    fn compose_files(
        &mut self,
        rest: &[Field],
        call: &Call,
        command: Option<u32>,
        setting: &Setting,
    ) -> Vec<(String, Rc<str>)> {
        let named = |at: usize| {
            let pair = rest.get(at..rest.len().min(at + 2))?;
            let flag = pair.first()?.text.as_str();
            let own = matches!(flag, "-f" | "--file") || flag.starts_with("--file=");
            super::rehearsals::flag_value(pair, &["-f", "--file"]).filter(|_| own)
        };
        let named: Vec<String> = (0..rest.len()).filter_map(named).map(str::to_owned).collect();
        let given = call.assignments.iter().find(|set| set.name == "COMPOSE_FILE");
        let given = given.map(|set| set.value.clone());
        let listed = given.or_else(|| Some(self.env.get("COMPOSE_FILE")?.text));
        let named = match listed.filter(|_| named.is_empty()) {
            Some(list) => list.split(':').map(str::to_owned).collect(),
            None => named,
        };
        let mut names: Vec<Vec<&str>> = named.iter().map(|name| vec![name.as_str()]).collect();
        if names.is_empty() {
            names = vec![FILES.to_vec(), MORE_FILES.to_vec()];
        }
        let mut files: Vec<(String, Rc<str>)> = Vec::new();
        for names in names {
            let found = self.first_file(&names, command, setting);
            files.extend(found.filter(|(path, _)| files.iter().all(|(known, _)| known != path)));
        }
        files
    }

    /// Notes the rights in a compose file, whatever its structure is.
    fn note_rights(&mut self, path: &str, text: &str, command: Option<u32>, setting: &Setting) {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
        for line in text.lines().take(4096).flat_map(block_lines) {
            let line = line.split(" #").next().unwrap_or("").trim();
            if matches!(line, "privileged: true" | "pid: host" | "pid: \"host\"") {
                self.out.form("container-escape", command);
                self.plain(EffectKind::Privilege, "", false, command, setting);
            }
            let mount = line
                .strip_prefix("- ")
                .map(|item| item.trim_matches(['"', '\'']))
                .and_then(|item| item.split_once(':').map(|(here, _)| here))
                .or_else(|| line.strip_prefix("source: "));
            let Some(mount) = mount.map(|text| text.trim_matches(['"', '\''])) else { continue };
            if mount.starts_with(['/', '~']) {
                let mount = mount.replacen('~', self.home, 1);
                let (here, _) = places::resolve(&mount, &folder);
                self.note_exposed(&here, command, setting);
            }
        }
    }

    /// Returns the services of a compose file.
    fn services_of(&mut self, path: &str, text: &str) -> Vec<Service> {
        let (tree, cut) = read_tree(text);
        if cut {
            self.note_cut(path);
        }
        let folder = path.rsplit_once('/').map_or("/", |(folder, _)| folder).to_owned();
        let named = tree.get("volumes").map(Node::members).unwrap_or_default();
        let devices: BTreeMap<&str, String> = named
            .iter()
            .filter_map(|(name, volume)| {
                let device = volume.get("driver_opts")?.get("device")?.text()?;
                Some((name.as_str(), self.interpolated(device)))
            })
            .collect();
        let services = tree.get("services").map(Node::members).unwrap_or_default();
        if services.len() > SERVICES {
            self.out.limit("more services than are followed");
        }
        services
            .iter()
            .take(SERVICES)
            .map(|(name, service)| {
                let listed = |key: &str| service.get(key).map(Node::items).unwrap_or_default();
                let volumes = listed("volumes").iter().chain(listed("devices"));
                let binds = volumes.filter_map(|volume| self.bind_of(volume, &devices));
                let mounts = binds.take(MOUNTS).filter_map(|bind| self.mount_of(bind, &folder));
                Service {
                    name: name.clone(),
                    container: service
                        .get("container_name")
                        .and_then(Node::text)
                        .map(str::to_owned),
                    mounts: mounts.collect(),
                    commands: commands_of(service),
                    folder: service
                        .get("working_dir")
                        .and_then(Node::text)
                        .filter(|path| path.starts_with('/'))
                        .map(str::to_owned),
                }
            })
            .collect()
    }

    /// Reads a volume of a service: `HERE:INSIDE[:OPTIONS]`, or a map.
    fn bind_of(&self, volume: &Node, devices: &BTreeMap<&str, String>) -> Option<Bind> {
        let text = |key: &str| volume.get(key).and_then(Node::text);
        let bind = match volume {
            Node::Text(text) => read_bind(&self.interpolated(text))?,
            _ => Bind {
                here: self.interpolated(text("source").or(text("src"))?),
                inside: text("target").or(text("dst")).or(text("destination"))?.to_owned(),
                read_only: text("read_only") == Some("true"),
            },
        };
        Some(match devices.get(bind.here.as_str()) {
            Some(device) => Bind { here: device.clone(), ..bind },
            None => bind,
        })
    }

    /// Fills in the variables of a compose file: `${NAME}`, `${NAME:-DEFAULT}`, `$NAME`.
    fn interpolated(&self, text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('$') {
            out.push_str(before);
            if let Some(after) = after.strip_prefix('$') {
                out.push('$');
                rest = after;
                continue;
            }
            let (name, default, end) = match after.strip_prefix('{').and_then(|a| a.split_once('}'))
            {
                Some((inner, end)) => {
                    let stop = inner.find([':', '-', '?', '+']).unwrap_or(inner.len());
                    let (name, more) = inner.split_at_checked(stop).unwrap_or((inner, ""));
                    (name, more.trim_start_matches(':').strip_prefix('-'), end)
                }
                None => {
                    let stop = after.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
                    let stop = stop.unwrap_or(after.len());
                    let (name, end) = after.split_at_checked(stop).unwrap_or((after, ""));
                    (name, None, end)
                }
            };
            let known = match name {
                "PWD" => Some(self.env.folder.clone()),
                "HOME" if !self.home.is_empty() => Some(self.home.to_owned()),
                name => self.env.get(name).filter(|value| value.known).map(|value| value.text),
            };
            match known.or_else(|| default.map(str::to_owned)) {
                Some(value) => out.push_str(&value),
                None => out.push(UNKNOWN),
            }
            rest = end;
        }
        out + rest
    }
}

/// Returns the commands that a service runs, as lines for a shell.
fn commands_of(service: &Node) -> Vec<String> {
    let line = |node: Option<&Node>| match node? {
        Node::List(words) => {
            let words = words.iter().filter_map(Node::text).map(quoted);
            Some(words.collect::<Vec<_>>().join(" "))
        }
        Node::Text(text) => Some(text.clone()),
        Node::Map(_) => None,
    };
    let started = line(service.get("entrypoint")).filter(|text| !text.trim().is_empty());
    let given = line(service.get("command")).filter(|text| !text.trim().is_empty());
    let mut lines = Vec::new();
    match (started, given) {
        (Some(started), Some(given)) => lines.push(format!("{started} {given}")),
        // Words for a program of the image.
        (None, Some(given)) if given.starts_with('-') => {}
        (one, other) => lines.extend(one.or(other)),
    }
    let check = service.get("healthcheck").and_then(|check| check.get("test"));
    match check {
        Some(Node::Text(text)) => lines.push(text.clone()),
        Some(Node::List(words)) => {
            let mut words = words.iter().filter_map(Node::text);
            match words.next() {
                Some("CMD-SHELL") => lines.extend(words.map(str::to_owned)),
                Some("CMD") => lines.push(words.map(quoted).collect::<Vec<_>>().join(" ")),
                _ => {}
            }
        }
        _ => {}
    }
    for hook in ["post_start", "pre_stop"] {
        let hooks = service.get(hook).map(Node::items).unwrap_or_default();
        lines.extend(hooks.iter().filter_map(|hook| line(hook.get("command"))));
    }
    // A doubled `$` is one for the shell inside.
    lines.iter().take(COMMANDS).map(|line| line.replace("$$", "$")).collect()
}

/// Returns a line of YAML, or one line for each item of the list in brackets that ends it.
fn block_lines(line: &str) -> Vec<String> {
    let line = line.trim();
    let list = line.split_once('[').and_then(|(key, rest)| {
        key.trim_end().ends_with(':').then(|| rest.trim_end().strip_suffix(']'))?
    });
    match list {
        Some(items) => items.split(',').map(|item| format!("- {}", item.trim())).collect(),
        None => vec![line.to_owned()],
    }
}

/// The two sides of a mount, as they are written.
pub(super) struct Bind {
    pub here: String,
    pub inside: String,
    read_only: bool,
}

/// Returns the values of the flags that mount something: `-v VALUE`, `-v=VALUE`, `-vVALUE`,
/// `-itv VALUE`, `--mount VALUE`, `--device VALUE`.
pub(super) fn bound(rest: &[Field]) -> impl Iterator<Item = &str> {
    let befores = std::iter::once("").chain(rest.iter().map(|field| field.text.as_str()));
    befores.zip(rest).filter_map(|(before, field)| {
        let letters = |text: &str| {
            text.len() <= 6
                && text
                    .strip_prefix('-')
                    .is_some_and(|all| all.bytes().all(|byte| byte.is_ascii_alphabetic()))
        };
        if matches!(before, "--volume" | "--mount" | "-B" | "--bind" | "--device")
            || (letters(before) && before.ends_with('v'))
        {
            return Some(field.text.as_str());
        }
        let attached = ["--volume=", "--mount=", "--bind=", "--device=", "-v", "-B"]
            .iter()
            .find_map(|flag| field.text.strip_prefix(flag));
        attached.map(|value| value.trim_start_matches('=')).filter(|value| !value.is_empty())
    })
}

/// Returns the two sides of `HERE:INSIDE[:OPTIONS]`, of `type=bind,source=HERE,target=INSIDE`, and
/// of a device.
pub(super) fn read_bind(text: &str) -> Option<Bind> {
    if ["target=", "dst=", "destination="].iter().any(|key| text.contains(key)) {
        let part = |names: &[&str]| {
            text.split(',').find_map(|part| names.iter().find_map(|name| part.strip_prefix(name)))
        };
        let option = |name: &str| {
            text.split(',').any(|part| part == name || part.strip_prefix(name) == Some("=true"))
        };
        // A volume may stand for a folder of this machine.
        let here = part(&["volume-opt=device="]).or_else(|| part(&["source=", "src="]))?;
        return Some(Bind {
            here: here.to_owned(),
            inside: part(&["target=", "dst=", "destination="])?.to_owned(),
            read_only: option("readonly") || option("ro"),
        });
    }
    let mut parts = text.split(':');
    let here = parts.next()?;
    let Some(inside) = parts.next() else {
        // A path alone is that of a new volume, unless it is a device.
        let device = here.starts_with("/dev/");
        return device.then(|| Bind {
            here: here.to_owned(),
            inside: here.to_owned(),
            read_only: false,
        });
    };
    let read_only = parts.next().is_some_and(|how| how.split(',').any(|one| one == "ro"));
    Some(Bind { here: here.to_owned(), inside: inside.to_owned(), read_only })
}
