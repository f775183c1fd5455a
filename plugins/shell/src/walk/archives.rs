//! Archives: the files that they are made of, and the folders that they fill.

use super::expand::Field;
use super::{Setting, Walker};
use crate::catalogue::Plan;
use crate::places;
use crate::types::EffectKind;

impl Walker<'_> {
    pub(super) fn unpacked(&mut self, rest: &[Field], plan: &Plan) {
        let folder = rest
            .iter()
            .position(|field| field.text == "-d")
            .and_then(|at| rest.get(at + 1))
            .cloned();
        let skipped = |text: &str| matches!(text, "x" | "e");
        let archive = plan
            .operands
            .iter()
            .filter_map(|at| rest.get(*at))
            .find(|field| !skipped(&field.text))
            .cloned();
        if let Some(archive) = archive {
            self.unpack_from(&archive, folder.as_ref());
        }
    }

    /// Notes the folder that an archive of unseen origin fills: the named one, or the one that
    /// usually carries the archive's name.
    fn unpack_from(&mut self, archive: &Field, folder: Option<&Field>) {
        let content = self.file_content(&archive.text);
        let text = folder.map_or_else(
            || {
                let name = archive.text.rsplit('/').next().unwrap_or("");
                name.split('.').next().unwrap_or(name).to_owned()
            },
            |folder| folder.text.clone(),
        );
        let (path, known) = places::resolve(&text, &self.env.folder);
        if known {
            let here = if folder.is_some() { path.clone() } else { self.env.folder.clone() };
            self.note_generated(&format!("{}/", here.trim_end_matches('/')));
        }
        if known && path != self.project && !text.is_empty() {
            self.remember_folder(&path, content.source);
        }
    }

    pub(super) fn tar(
        &mut self,
        rest: &[Field],
        plan: &Plan,
        command: Option<u32>,
        setting: &Setting,
    ) {
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
                .position(|field| is_file_flag(&field.text))
                .and_then(|at| rest.get(at + 1)),
        };
        let attached = rest.iter().find_map(|field| {
            let name = field.text.strip_prefix("--file=")?;
            Some(Field { text: name.to_owned(), ..field.clone() })
        });
        let archive = archive.or(attached.as_ref());
        let local = long("--force-local");
        let far = archive.filter(|_| !local).and_then(|field| places::remote_path(&field.text));
        if let Some(host) = &far {
            self.plain(EffectKind::Network, host, true, command, setting);
            if mode.contains(['c', 'r', 'u']) || long("--create") || long("--append") {
                self.plain(EffectKind::Send, host, true, command, setting);
            }
        }
        let files = plan.operands.iter().filter_map(|at| rest.get(*at)).filter(|field| {
            archive.is_none_or(|archive| archive.text != field.text)
                && bare.is_none_or(|bare| bare.text != field.text)
        });
        let (packs, opens) = (
            mode.contains('c') || long("--create"),
            mode.contains('x') || long("--extract") || long("--get"),
        );
        if packs {
            for field in files {
                self.file(EffectKind::FileRead, field, true, command, setting);
            }
            if let Some(archive) = archive.filter(|_| far.is_none()) {
                self.file(EffectKind::FileModify, archive, false, command, setting);
            }
        } else if let Some(archive) = archive.filter(|_| far.is_none()) {
            self.file(EffectKind::FileRead, archive, false, command, setting);
        }
        if opens && !mode.contains('O') {
            if let Some(archive) = archive {
                self.unpack_from(archive, unpacked_in(rest).first());
            }
            let here = Field::plain(".", crate::syntax::Span::default());
            let mark = self.env.mark();
            for folder in unpacked_in(rest) {
                self.env.enter(&folder.text, folder.is_literal(), true);
            }
            self.file(EffectKind::FileCreate, &here, true, command, setting);
            self.env.restore(mark);
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

/// Returns true for `--file`, and for a cluster of letters that ends with `f`.
fn is_file_flag(text: &str) -> bool {
    text == "--file" || (text.starts_with('-') && !text.starts_with("--") && text.ends_with('f'))
}

/// Returns the index of the word that is the value of a letter in a first word without a dash, as
/// in `xCf DIR A.tar`: values come in the order of their letters.
fn bare_value(letters: &str, letter: char) -> usize {
    let valued =
        letters.chars().take_while(|c| *c != letter).filter(|c| "fCTXbgIKLNV".contains(*c)).count();
    if letters.contains(letter) { 1 + valued } else { usize::MAX }
}
