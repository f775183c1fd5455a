//! Texts that a program carries out though no shell runs them: what a cluster is to make, the
//! commands in a call of a cloud, and a description that comes from the network.

use super::expand::Field;
use super::feed::Feed;
use super::simple::Call;
use super::{Setting, Walker};
use crate::catalogue::{self, Plan};
use crate::places::Place;
use crate::syntax::Span;
use crate::types::EffectKind;

/// Programs that run what a description on their input says, and the flags that name it.
const FED: &[(&str, &[&str])] = &[
    ("make", &["-f", "--file", "--makefile"]),
    ("gmake", &["-f", "--file", "--makefile"]),
    ("just", &["-f", "--justfile"]),
    ("task", &["-t", "--taskfile"]),
    ("cmake", &["-P"]),
    ("docker", &["build", "-f", "--file"]),
    ("podman", &["build", "-f", "--file"]),
    ("kubectl", &["-f", "--filename"]),
    ("oc", &["-f", "--filename"]),
    ("ansible-playbook", &[]),
];

impl Walker<'_> {
    /// Follows the descriptions that a program gets as words and on its input.
    pub(super) fn described(
        &mut self,
        name: &str,
        rest: &[Field],
        plan: &Plan,
        command: Option<u32>,
        call: &Call,
        setting: &Setting,
    ) {
        self.fed(name, rest, command, call, setting);
        match name {
            "kubectl" | "oc" if !plan.local => self.demanded(rest, command, call, setting),
            "aws" => self.sent_command(rest, setting),
            _ => {}
        }
    }

    /// Follows the script of a framework that every project has, and whose subcommands are known:
    /// `python manage.py flush`.
    pub(super) fn framework_script(
        &mut self,
        script: &Field,
        rest: &[Field],
        command: Option<u32>,
        call: &Call,
        setting: &Setting,
    ) {
        let name = script.text.rsplit('/').next().unwrap_or("");
        // Another word may have the same text, so the script is found by its place.
        let at = rest.iter().position(|field| std::ptr::eq(field, script));
        let words = at.and_then(|at| rest.get(at + 1..)).unwrap_or_default();
        if !matches!(name, "artisan" | "console" | "manage.py" | "rails") || words.is_empty() {
            return;
        }
        let texts: Vec<&str> = words.iter().map(|field| field.text.as_str()).collect();
        // Only the framework's own subcommands are known; projects add others.
        let Some(found) = catalogue::find(name, &texts).filter(|found| found.depth > 0) else {
            return;
        };
        let mut plan = catalogue::plan(&found, &texts);
        self.rehearse(name, words, &mut plan, call, setting);
        self.effects_of(&plan, words, command, setting);
    }

    /// Notes a description from the network that nobody has seen.
    fn fed(
        &mut self,
        name: &str,
        rest: &[Field],
        command: Option<u32>,
        call: &Call,
        setting: &Setting,
    ) {
        let Some((_, flags)) = FED.iter().find(|(program, _)| *program == name) else { return };
        let is_input = |text: &str| matches!(text, "-" | "/dev/stdin" | "/proc/self/fd/0");
        let reads = rest.iter().enumerate().any(|(at, field)| {
            let attached = flags.iter().find_map(|flag| field.text.strip_prefix(flag));
            let before = at.checked_sub(1).and_then(|before| rest.get(before));
            let named = before.is_some_and(|before| flags.contains(&before.text.as_str()));
            (is_input(&field.text) && (named || flags.is_empty()))
                || attached.is_some_and(|rest| is_input(rest.trim_start_matches('=')))
        });
        if reads {
            self.unseen(call.input.source, command, setting);
        }
    }

    /// Notes the power that something asks of a cluster: over the cluster, or over its machines.
    fn demanded(&mut self, rest: &[Field], command: Option<u32>, call: &Call, setting: &Setting) {
        let changes = |field: &Field| {
            matches!(
                field.text.as_str(),
                "apply" | "create" | "replace" | "run" | "patch" | "edit" | "set" | "debug"
            )
        };
        if !rest.iter().any(changes) || rest.iter().any(|field| field.text.starts_with("--dry-run"))
        {
            return;
        }
        // A shell on a node has the node's files and processes.
        let debugs = rest.iter().any(|field| field.text == "debug");
        if debugs && rest.iter().any(|field| field.text.starts_with("node/")) {
            self.out.form("container-escape", command);
            self.plain(EffectKind::Privilege, "cluster", true, command, setting);
        }
        let shows = |text: &str| text.contains(['{', ':']);
        let mut texts: Vec<String> = rest
            .iter()
            .filter(|field| shows(&field.text))
            .map(|field| field.text.clone())
            .collect();
        texts.extend(call.input.text.as_deref().map(str::to_owned));
        // A file that this very line wrote.
        let written = rest.iter().filter_map(|field| self.file_content(&field.text).text);
        texts.extend(written.map(|text| text.to_string()));
        for text in texts {
            // YAML and JSON, in any layout, become the same text.
            let plain: String =
                text.chars().filter(|c| !c.is_whitespace() && !matches!(c, '"' | '\'')).collect();
            let low = plain.to_ascii_lowercase();
            let has = |signs: &[&str]| signs.iter().any(|sign| low.contains(sign));
            if has(&["rolebinding"]) && has(&["cluster-admin", "system:masters"]) {
                self.out.form("grant-rights", command);
                self.plain(EffectKind::Privilege, "cluster", true, command, setting);
            }
            if has(&[
                "privileged:true",
                "hostpid:true",
                "hostipc:true",
                "hostpath:{path:/}",
                "hostpath:{path:/,",
                "path:/var/run/docker.sock",
                "path:/run/containerd",
            ]) {
                self.out.form("container-escape", command);
                self.plain(EffectKind::Privilege, "cluster", true, command, setting);
            }
        }
    }

    /// Follows the commands that `aws ssm send-command` runs on machines: `commands=["CMD",...]`.
    fn sent_command(&mut self, rest: &[Field], setting: &Setting) {
        if !rest.iter().any(|field| field.text == "send-command") {
            return;
        }
        for field in rest {
            let Some((_, list)) = field.text.split_once("commands") else { continue };
            let list = list.trim_start_matches(['"', '\'', ':', '=', ' ']);
            let Some(quoted) = list.strip_prefix('[') else {
                self.run_there(list, field.span, setting);
                continue;
            };
            let quoted = quoted.split(']').next().unwrap_or(quoted);
            let mark = if quoted.contains('"') { '"' } else { '\'' };
            if !quoted.contains(mark) {
                quoted.split(',').for_each(|text| self.run_there(text, field.span, setting));
                continue;
            }
            for text in quoted.split(mark).skip(1).step_by(2).take(64) {
                self.run_there(text, field.span, setting);
            }
        }
    }

    fn run_there(&mut self, text: &str, span: Span, setting: &Setting) {
        let inner = Setting {
            place: Place::Host("aws".to_owned()),
            input: Feed::default(),
            ..setting.clone()
        };
        self.nested(&Field::plain(text, span), "aws", &inner);
    }
}
