//! The effects that the name of a foreign tool implies, with the objects among its parameters.

use super::Reader;
use super::browser::{self, InPage};
use super::controls::{self, Control, is_in_production};
use super::name::Name;
use super::switches::{
    deploys, empties, forces, opens, shows_secrets, text_of, weakens_protection,
};
use super::tables::{AMOUNTS, KINDS, PAYEES, REMOTE, SHARED, STAGES};
use crate::action::{EffectKind, Form};
use crate::event::Call;
use crate::facts::texts;
use crate::facts::verbs::{self, VerbMeaning};
use crate::score::Score;
use serde_json::{Map, Value};

/// The label of the form of a call that destroys something with everything in it.
const DESTROYS_WHOLE: &str =
    "deletes a whole database, bucket, cluster, project or the like on a remote service";

impl Reader<'_, '_, '_, '_> {
    /// Adds the effects that the tool's own name implies.
    pub(super) fn named(&mut self, name: &Name, call: &Call, parameters: &[(String, String)]) {
        let server = call
            .tool
            .strip_prefix("mcp__")
            .and_then(|rest| rest.split("__").next())
            .unwrap_or_default();
        let files = self.facts.facts.effects.iter().any(|effect| effect.kind.changes_files());
        let remote =
            call.input.keys().any(|key| REMOTE.contains(&key.to_ascii_lowercase().as_str()));
        let holds = |(key, text): &(String, String)| {
            KINDS.contains(&texts::plain(key).as_str()) && verbs::is_whole(text)
        };
        let forced = forces(&call.input);
        let shared = || {
            parameters.iter().any(|(key, text)| key == "branch" && SHARED.contains(&text.as_str()))
        };
        let pushes = name.0.first().is_some_and(|word| word == "push");
        let overwrites = name.says(&["push"])
            || name.says(&["ref", "refs", "reference", "references"])
                && name.says(&["edit", "patch", "set", "update"]);
        let meaning = meaning_of(name, &call.input);
        if weakens_protection(name, &call.input)
            || name.says(&["protection", "protections"]) && takes_away(meaning)
        {
            self.form("protection-off", "weakens the protection of a branch", 200);
            self.plain(EffectKind::RemoteChange, server);
        }
        if shows_secrets(name, &call.input) {
            self.plain(EffectKind::SecretRead, server);
        }
        let has = |keys: &[&str]| {
            parameters.iter().any(|(key, _)| keys.contains(&texts::plain(key).as_str()))
                || call.input.keys().any(|key| keys.contains(&texts::plain(key).as_str()))
        };
        if meaning != VerbMeaning::Looks && has(AMOUNTS) && has(PAYEES) {
            return self.plain(EffectKind::ResourceUse, server);
        }
        self.in_page(name, server, parameters);
        self.controlled(name, call, server, parameters, meaning);
        let may_deploy =
            matches!(meaning, VerbMeaning::Publishes | VerbMeaning::Stops | VerbMeaning::Unknown);
        let is_production =
            name.says(&["prod", "production"]) || is_in_production(parameters, STAGES);
        if may_deploy && deploys(name) && is_production {
            self.form("to-production", "changes what runs in production", 200);
        }
        if meaning != VerbMeaning::Looks && opens(call) {
            self.form("open-to-all", "opens something on a service to everybody", 200);
            self.plain(EffectKind::RemoteChange, server);
        }
        match meaning {
            VerbMeaning::Destroys | VerbMeaning::DestroysAll | VerbMeaning::Tidies
                if files && !remote => {}
            VerbMeaning::Tidies => self.plain(EffectKind::RemoteChange, server),
            VerbMeaning::Destroys if !parameters.iter().any(holds) => {
                self.plain(EffectKind::RemoteDelete, server);
                self.form("delete-remote", "deletes something on a remote service", 100);
            }
            VerbMeaning::Destroys | VerbMeaning::DestroysAll => {
                self.plain(EffectKind::RemoteDelete, server);
                self.form("destroy-remote", DESTROYS_WHOLE, 200);
            }
            VerbMeaning::Unknown if name.says(&["scale"]) && empties(&call.input, 1) => {
                self.plain(EffectKind::RemoteDelete, server);
                self.form("delete-remote", "deletes something on a remote service", 100);
            }
            // Others have it, or miss it, at once.
            VerbMeaning::Publishes | VerbMeaning::Stops => self.plain(EffectKind::Publish, server),
            VerbMeaning::Overwrites => self.overwrites(server),
            VerbMeaning::Spends => self.plain(EffectKind::ResourceUse, server),
            VerbMeaning::Grants => self.plain(EffectKind::Privilege, server),
            VerbMeaning::Unknown if overwrites && forced => self.overwrites(server),
            VerbMeaning::Unknown if pushes && shared() => self.plain(EffectKind::Publish, server),
            VerbMeaning::Unknown | VerbMeaning::Looks => {}
        }
    }

    /// Adds the effects of what a call does in a page of a browser.
    fn in_page(&mut self, name: &Name, server: &str, parameters: &[(String, String)]) {
        for act in browser::in_page(name, parameters) {
            match act {
                InPage::SendsOfPerson(host) => {
                    self.plain(EffectKind::SecretRead, &host);
                    self.send(&host);
                }
                InPage::TypesSecret => self.send(""),
                InPage::Presses(VerbMeaning::Spends) => self.plain(EffectKind::ResourceUse, server),
                InPage::Presses(_) => {
                    self.plain(EffectKind::RemoteDelete, server);
                    self.form("destroy-remote", DESTROYS_WHOLE, 200);
                }
            }
        }
    }

    /// Adds the effects that the object of a call implies.
    fn controlled(
        &mut self,
        name: &Name,
        call: &Call,
        server: &str,
        parameters: &[(String, String)],
        meaning: VerbMeaning,
    ) {
        for control in controls::controls_of(name, &call.input, parameters, meaning) {
            let (id, label, kind) = match control {
                Control::Weakens => (
                    "protection-off",
                    "weakens a protection of a service",
                    EffectKind::RemoteChange,
                ),
                Control::Leads => (
                    "dns-change",
                    "changes where a name of the internet leads",
                    EffectKind::RemoteChange,
                ),
                Control::Deploys => {
                    ("to-production", "puts something where others use it", EffectKind::Publish)
                }
                Control::Unshown => (
                    "no-approval",
                    "applies changes without showing them first",
                    EffectKind::RemoteChange,
                ),
                Control::AllRows => {
                    ("delete-all-rows", "changes every row of a table", EffectKind::RemoteDelete)
                }
            };
            self.form(id, label, 200);
            self.plain(kind, server);
        }
        let forwards =
            |(key, text): &(String, String)| key.contains("forward") && text.contains('@');
        if parameters.iter().any(forwards) && meaning != VerbMeaning::Looks {
            self.send(server);
        }
    }

    fn overwrites(&mut self, server: &str) {
        self.plain(EffectKind::Publish, server);
        self.form("force-push", "overwrites the history of a remote branch", 200);
    }

    fn form(&mut self, id: &str, label: &str, weight: u16) {
        self.facts.facts.forms.push(Form {
            id: id.to_owned(),
            label: label.to_owned(),
            weight: Score::new(weight),
            command: None,
        });
    }
}

/// Returns the effect that a call's name implies, or else the one of a verb among its parameters:
/// `manage_database` with the action `drop`.
fn meaning_of(name: &Name, input: &Map<String, Value>) -> VerbMeaning {
    let meaning = verbs::meaning_of(&name.0);
    let said = text_of(input, &["action", "operation", "op", "verb"])
        .filter(|said| said.len() <= 40 && !said.contains(char::is_whitespace));
    match said {
        Some(said) if meaning == VerbMeaning::Unknown => {
            let objects = name.0.iter().filter(|word| !verbs::changes(word));
            let words: Vec<String> =
                verbs::words(said).into_iter().chain(objects.cloned()).collect();
            verbs::meaning_of(&words)
        }
        _ => meaning,
    }
}

const fn takes_away(meaning: VerbMeaning) -> bool {
    matches!(meaning, VerbMeaning::Destroys | VerbMeaning::DestroysAll | VerbMeaning::Stops)
}
