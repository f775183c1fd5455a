//! Modules of Ansible: in a playbook, or by name in `ansible HOSTS -m MODULE -a ARGUMENTS`. A module
//! does what a command line does, and is read as that command line, on the machine that the play
//! names.

use super::expand::Field;
use super::feed::Feed;
use super::routines::quoted;
use super::{Setting, Walker};
use crate::autoruns::{Node, read_tree};
use crate::places::Place;
use crate::syntax::Span;
use std::collections::BTreeMap;

/// The most tasks of one playbook that are read.
const TASKS: usize = 128;
/// The deepest nesting of blocks of tasks.
const DEPTH: usize = 8;
/// Names of this machine among the hosts of a play.
const HERE: &[&str] = &["127.0.0.1", "::1", "localhost"];
/// Keys of a play or a block that hold tasks.
const LISTS: &[&str] =
    &["always", "block", "handlers", "post_tasks", "pre_tasks", "rescue", "tasks"];
/// Modules that run their text.
const TEXTS: &[&str] = &["command", "expect", "raw", "script", "shell", "win_command", "win_shell"];

/// The arguments of a module, by name; free text has the name `_`.
type Arguments = BTreeMap<String, String>;

impl Walker<'_> {
    /// Reads `ansible HOSTS -m MODULE -a ARGUMENTS`.
    pub(super) fn play_module(&mut self, rest: &[Field], setting: &Setting) {
        let value = |flags: &[&str]| {
            rest.iter().enumerate().find_map(|(at, field)| {
                let (flag, given) = match field.text.split_once('=') {
                    Some((flag, given)) if flag.starts_with("--") => (flag, Some(given.to_owned())),
                    _ => (field.text.as_str(), None),
                };
                let next = || rest.get(at + 1).map(|field| field.text.clone());
                flags.contains(&flag).then(|| given.or_else(next)).flatten()
            })
        };
        let looks = ["--check", "-C", "--list-hosts", "--syntax-check"];
        if rest.iter().any(|field| looks.contains(&field.text.as_str())) {
            return;
        }
        let Some(module) = value(&["-m", "--module-name"]) else { return };
        let hosts = rest.iter().find(|field| !field.text.starts_with('-'));
        let hosts = hosts.map_or("", |field| field.text.as_str());
        let arguments = arguments_of(&value(&["-a", "--args"]).unwrap_or_default());
        let span = rest.first().map_or_else(Span::default, |field| field.span);
        // The words of a command were read with the option that holds them.
        if !TEXTS.contains(&short(&module)) {
            self.play(&module, &arguments, hosts, span, setting);
        }
    }

    /// Reads the text of a playbook that `ansible-playbook` gets on its standard input.
    pub(super) fn piped_playbook(&mut self, rest: &[Field], input: &Feed, setting: &Setting) {
        let piped = |field: &&Field| matches!(field.text.as_str(), "/dev/stdin" | "-");
        let fed = rest.iter().find(piped).and_then(|_| input.text.clone());
        let substituted = || rest.iter().find_map(|field| field.feed.as_ref()?.text.clone());
        if let Some(text) = fed.or_else(substituted) {
            let span = rest.first().map_or_else(Span::default, |field| field.span);
            self.playbook(&text, span, setting);
        }
    }

    /// Reads the text of a playbook.
    fn playbook(&mut self, text: &str, span: Span, setting: &Setting) {
        self.spend(text.len());
        let (tree, cut) = read_tree(text);
        let mut left = TASKS;
        for play in tree.items() {
            let hosts = play.get("hosts").and_then(Node::text).unwrap_or("");
            self.tasks(play, hosts, 0, &mut left, span, setting);
        }
        if cut || left == 0 {
            self.out.limit("more text than is read");
        }
    }

    fn tasks(
        &mut self,
        holder: &Node,
        hosts: &str,
        depth: usize,
        left: &mut usize,
        span: Span,
        setting: &Setting,
    ) {
        if depth > DEPTH {
            *left = 0;
            return;
        }
        for (_, list) in holder.members().iter().filter(|(key, _)| LISTS.contains(&key.as_str())) {
            for task in list.items() {
                *left = left.saturating_sub(1);
                if *left == 0 {
                    return;
                }
                for (module, given) in task.members() {
                    let mut arguments = match given {
                        Node::Text(text) => arguments_of(text),
                        Node::Map(members) => members
                            .iter()
                            .filter_map(|(key, value)| {
                                Some((key.clone(), value.text()?.to_owned()))
                            })
                            .collect(),
                        Node::List(_) => continue,
                    };
                    for (name, value) in task.get("args").map(Node::members).unwrap_or_default() {
                        let text = value.text().unwrap_or_default().to_owned();
                        arguments.entry(name.clone()).or_insert(text);
                    }
                    self.play(module, &arguments, hosts, span, setting);
                }
                self.tasks(task, hosts, depth + 1, left, span, setting);
            }
        }
    }

    /// Reads what a module does as the command line that does the same.
    fn play(
        &mut self,
        module: &str,
        arguments: &Arguments,
        hosts: &str,
        span: Span,
        setting: &Setting,
    ) {
        let Some(text) = line_of(short(module), arguments) else { return };
        let here = HERE.iter().any(|name| hosts.trim_end_matches(',') == *name);
        let place = if here { Place::Here } else { Place::Host("hosts".to_owned()) };
        let setting = Setting { place, input: Feed::default(), ..setting.clone() };
        self.nested(&Field { known: true, ..Field::plain(&text, span) }, "ansible", &setting);
    }
}

/// Returns a module's name without its collection.
fn short(module: &str) -> &str {
    module.rsplit('.').next().unwrap_or(module)
}

/// Returns the arguments in `a=b c="d e"`, and the rest as free text.
fn arguments_of(text: &str) -> Arguments {
    let mut found = Arguments::new();
    let mut free = Vec::new();
    for word in words_of(text) {
        match word.split_once('=') {
            Some((name, value)) if name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') => {
                found.insert(name.to_owned(), value.to_owned());
            }
            _ => free.push(word),
        }
    }
    if !free.is_empty() {
        found.insert("_".to_owned(), text.to_owned());
    }
    found
}

/// Splits a text at blanks outside quotes, which go.
fn words_of(text: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    for c in text.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '"' | '\'') => quote = Some(c),
            (None, c) if c.is_whitespace() => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            (_, c) => word.push(c),
        }
    }
    words.extend(Some(word).filter(|word| !word.is_empty()));
    words
}

/// Returns the command line that does what a module does; none for one that only looks, or that
/// the table does not have.
fn line_of(module: &str, arguments: &Arguments) -> Option<String> {
    let get = |names: &[&str]| {
        names.iter().find_map(|name| arguments.get(*name)).map(String::as_str).unwrap_or("")
    };
    let off = |name: &str| matches!(get(&[name]), "no" | "false" | "False" | "off");
    let on = |name: &str| matches!(get(&[name]), "yes" | "true" | "True" | "on");
    let state = get(&["state"]);
    let named = quoted(get(&["name", "path", "dest", "src"]));
    let absent = matches!(state, "absent" | "removed");
    Some(match module {
        _ if TEXTS.contains(&module) => {
            let text = get(&["cmd", "command", "_"]);
            if module == "script" { format!("sh {text}") } else { text.to_owned() }
        }
        "service" | "systemd" | "systemd_service" | "sysvinit" => {
            let verb = match state {
                _ if on("masked") => "mask",
                "stopped" => "stop",
                _ if off("enabled") => "disable",
                "restarted" | "reloaded" => "restart",
                "started" => "start",
                _ => return None,
            };
            format!("systemctl {verb} {named}")
        }
        "user" if absent => format!("userdel {named}"),
        "user" => match get(&["groups", "group"]) {
            "" => format!("useradd {named}"),
            groups => format!("useradd -G {} {named}", quoted(groups)),
        },
        "file" if absent => format!("rm -rf {named}"),
        "file" if !get(&["mode"]).is_empty() => format!("chmod {} {named}", quoted(get(&["mode"]))),
        "lineinfile" | "blockinfile" | "replace" | "ini_file" => format!("sed -i s/a/b/ {named}"),
        "copy" | "template" => format!("tee {}", quoted(get(&["dest"]))),
        "authorized_key" => "tee -a ~/.ssh/authorized_keys".to_owned(),
        "filesystem" if absent => format!("wipefs -a {}", quoted(get(&["dev", "device"]))),
        "filesystem" => {
            let kind = get(&["fstype", "type"]);
            format!("mkfs -t {} {}", quoted(kind), quoted(get(&["dev", "device"])))
        }
        "parted" if state != "info" => {
            format!("parted -s {} mklabel gpt", quoted(get(&["device"])))
        }
        "lvol" if absent => {
            format!("lvremove -f {}/{}", quoted(get(&["vg"])), quoted(get(&["lv"])))
        }
        "lvg" if absent => format!("vgremove -f {}", quoted(get(&["vg"]))),
        "ufw" if matches!(state, "disabled" | "reset") => "ufw disable".to_owned(),
        "iptables" if on("flush") => "iptables -F".to_owned(),
        "selinux" if matches!(state, "disabled" | "permissive") => "setenforce 0".to_owned(),
        "sysctl" => format!("sysctl -w {named}={}", quoted(get(&["value"]))),
        "cron" if !absent => "crontab ansible".to_owned(),
        "reboot" => "reboot".to_owned(),
        "get_url" => {
            format!("curl -o {} {}", quoted(get(&["dest"])), quoted(get(&["url"])))
        }
        "postgresql_db" if absent => format!("dropdb {named}"),
        "mysql_db" if absent => format!("mysqladmin -f drop {named}"),
        "docker_volume" if absent => format!("docker volume rm {named}"),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::{arguments_of, line_of};

    #[test]
    fn modules_are_command_lines() {
        for (module, arguments, line) in [
            ("filesystem", "fstype=ext4 dev=/dev/sdb force=true", "mkfs -t ext4 /dev/sdb"),
            ("service", "name=nginx state=stopped", "systemctl stop nginx"),
            ("systemd", "name=nginx masked=yes", "systemctl mask nginx"),
            ("service", "name=nginx state=started", "systemctl start nginx"),
            ("user", "name=eve groups='sudo,adm'", "useradd -G sudo,adm eve"),
            ("file", "path=\"/srv/a b\" state=absent", "rm -rf '/srv/a b'"),
            ("shell", "nft flush ruleset", "nft flush ruleset"),
        ] {
            let found =
                line_of(module, &arguments_of(arguments)).map(|text| text.replace('\'', ""));
            assert_eq!(found, Some(line.replace('\'', "")), "{module} {arguments}");
        }
        for (module, arguments) in
            [("ping", ""), ("setup", ""), ("debug", "msg=rm"), ("stat", "path=/etc/shadow")]
        {
            assert_eq!(line_of(module, &arguments_of(arguments)), None, "{module}");
        }
    }
}
