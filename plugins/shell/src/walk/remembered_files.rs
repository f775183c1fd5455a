//! Files that the command line itself writes, remembered in case the line runs them later.

use super::expand::Field;
use super::feed::{Feed, Source};
use super::scripts::Manner;
use super::{Setting, Walker};
use crate::catalogue::{Item, Plan};
use crate::places;
use crate::types::EffectKind;

/// Most files whose text is remembered.
const FILES: usize = 1024;

impl Walker<'_> {
    /// Notes the files that a program downloads or decodes to.
    pub(super) fn remember_downloads(&mut self, source: Source, rest: &[Field], plan: &Plan) {
        if !source.is_unseen() {
            return;
        }
        let feed = || Feed { source, open: true, ..Feed::default() };
        let named_by_address =
            plan.items.iter().any(|item| matches!(item, Item::Constant(EffectKind::FileCreate, _)));
        for item in &plan.items {
            match item {
                Item::Word(EffectKind::FileModify | EffectKind::FileCreate, at) => {
                    if let Some(field) = rest.get(*at) {
                        self.remember_file(&field.text, feed(), false);
                    }
                }
                Item::Value(EffectKind::FileModify | EffectKind::FileCreate, name) => {
                    self.remember_file(name, feed(), false)
                }
                Item::Word(EffectKind::Network, at) if named_by_address => {
                    if let Some(file) =
                        rest.get(*at).and_then(|field| field.text.rsplit('/').next())
                    {
                        self.remember_file(file, feed(), false);
                    }
                }
                _ => {}
            }
        }
    }

    /// Notes the files that get a copy of a program's input.
    pub(super) fn remember_copies(&mut self, rest: &[Field], plan: &Plan, input: &Feed) {
        let appended = rest.iter().any(|field| matches!(field.text.as_str(), "-a" | "--append"));
        for field in plan.operands.iter().filter_map(|at| rest.get(*at)) {
            self.remember_output(&field.text, input, appended);
        }
    }

    /// Runs a file that this very command line wrote; false if it wrote no such file.
    pub(super) fn runs_own_file(
        &mut self,
        program: &Field,
        command: Option<u32>,
        setting: &Setting,
    ) -> bool {
        let (path, _) = places::resolve(&program.text, &self.env.folder);
        self.runs_built(program, command, setting);
        let content = self.content_of(&path).filter(|content| content.pieces.is_none());
        let Some(content) = content else { return false };
        if content.text.is_none() {
            self.run_script(program, &path, None, Manner::Program, &[], command, setting);
        }
        self.unseen(content.source, command, setting);
        if let Some(text) = &content.text {
            let field = Field {
                text: text.to_string(),
                known: true,
                span: program.span,
                ..Field::default()
            };
            self.nested(
                &field,
                &program.text,
                &Setting { input: Feed::default(), ..setting.clone() },
            );
        }
        true
    }

    /// Notes a file that this command line writes, so that it is known if it is run later.
    pub(super) fn remember_file(&mut self, target: &str, feed: Feed, appended: bool) {
        if self.files.len() >= FILES {
            self.out.limit("more written files than are followed");
        } else {
            let (path, certain) = places::resolve(target, &self.env.folder);
            if certain {
                if !appended {
                    self.generated.remove(&path);
                    self.printed.remove(&path);
                }
                let before = self.files.remove(&path);
                let on_disk = || appended.then(|| Feed { open: true, ..self.on_disk(&path) });
                let feed = match before.or_else(on_disk) {
                    Some(before) if appended => super::joined(before, feed),
                    _ => feed,
                };
                self.edits.remove(&path);
                self.files.insert(path, feed);
            }
        }
    }
}
