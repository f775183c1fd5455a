//! Redirections: their targets, and the streams that they open.

use super::expand::Field;
use super::feed::Feed;
use super::simple::word_of;
use super::{Setting, Walker};
use crate::places::Place;
use crate::syntax::Redirect;
use crate::types::{Direction, EffectKind, Redirection};

/// The maximum number of file descriptors that are followed.
const DESCRIPTORS: usize = 256;

/// The effect of redirections on the streams.
#[derive(Default)]
pub(super) struct Streams {
    pub input: Option<Feed>,
    /// The output goes to a file.
    pub captured: bool,
    /// Files that were opened before, and that get the output.
    pub files: Vec<Field>,
}

impl Walker<'_> {
    /// Applies redirections, and notes their targets.
    pub(super) fn redirections(
        &mut self,
        redirects: &[Redirect],
        command: Option<u32>,
        setting: &Setting,
    ) -> (Vec<Redirection>, Streams) {
        let mut list = Vec::new();
        let mut io = Streams::default();
        for redirect in redirects {
            let target = match redirect.heredoc.and_then(|index| setting.heredocs.get(index)) {
                Some(word) => self.single(word, setting),
                None => self.single(&redirect.target, setting),
            };
            self.redirect(redirect, &target, command, setting, &mut io);
            list.push(Redirection {
                descriptor: redirect.descriptor,
                direction: redirect.direction,
                target: word_of(&target),
            });
        }
        (list, io)
    }

    fn redirect(
        &mut self,
        redirect: &Redirect,
        target: &Field,
        command: Option<u32>,
        setting: &Setting,
        io: &mut Streams,
    ) {
        match redirect.direction {
            Direction::Duplicate => {
                let other = target
                    .text
                    .parse()
                    .ok()
                    .and_then(|number| self.descriptors.get(&number))
                    .cloned();
                io.input = other.filter(|_| redirect.descriptor == 0).or(io.input.take());
                self.duplicate(redirect.descriptor, target, io);
            }
            Direction::Heredoc => {
                let text = target.known.then(|| std::rc::Rc::from(target.text.as_str()));
                let items = (!target.known).then(|| target.text.clone());
                self.opened(
                    redirect.descriptor,
                    Feed {
                        text,
                        items: items.filter(|_| target.pieces.is_none()),
                        pieces: target.pieces.clone(),
                        source: target.source,
                        open: true,
                        from: None,
                    },
                    io,
                );
            }
            Direction::Input => {
                let (before, dumps) = (self.secrets.len(), self.dumps);
                self.file(EffectKind::FileRead, target, false, command, setting);
                let mut feed =
                    target.feed.clone().unwrap_or_else(|| self.file_content(&target.text));
                feed.open = true;
                // A path elsewhere is not that of a file on this disk.
                feed.pieces = feed.pieces.filter(|_| setting.place == Place::Here);
                feed.source.secret |= self.secrets.len() > before;
                feed.source.dumped |= self.dumps > dumps;
                self.opened(redirect.descriptor, feed, io);
            }
            Direction::Output | Direction::Append => {
                io.captured |= redirect.descriptor == 1;
                let setting =
                    Setting { appends: redirect.direction == Direction::Append, ..setting.clone() };
                self.file(EffectKind::FileModify, target, false, command, &setting);
                if redirect.descriptor > 2 && setting.place == Place::Here {
                    self.note_output(redirect.descriptor, target, &setting);
                }
            }
        }
    }

    /// Remembers the file behind a descriptor that later commands may write to.
    fn note_output(&mut self, descriptor: u32, target: &Field, setting: &Setting) {
        if !setting.appends {
            self.remember_file(&target.text, Feed::of_text(""), false);
        }
        if self.outputs.len() < DESCRIPTORS || self.outputs.contains_key(&descriptor) {
            self.outputs.insert(descriptor, target.clone());
        } else {
            self.out.limit("more open files than are followed");
        }
    }

    /// Follows `>&3`: the output goes to a file that was opened before.
    fn duplicate(&mut self, descriptor: u32, target: &Field, io: &mut Streams) {
        if self.outputs.is_empty() || descriptor == 0 {
            return;
        }
        match target.text.parse::<u32>() {
            Ok(number) => {
                let Some(file) = self.outputs.get(&number).cloned() else { return };
                if descriptor == 1 {
                    io.captured = true;
                    io.files.push(file);
                } else if descriptor > 2 {
                    self.outputs.insert(descriptor, file);
                } else {
                    self.rewrite(&file, None);
                }
            }
            Err(_) if matches!(target.text.as_str(), "-") => {}
            // It may be any of them.
            Err(_) => {
                let all: Vec<Field> = self.outputs.values().cloned().collect();
                all.iter().for_each(|file| self.rewrite(file, None));
            }
        }
    }

    fn opened(&mut self, descriptor: u32, feed: Feed, io: &mut Streams) {
        if descriptor == 0 {
            io.input = Some(feed);
        } else if self.descriptors.len() < DESCRIPTORS || self.descriptors.contains_key(&descriptor)
        {
            self.descriptors.insert(descriptor, feed);
        } else {
            self.out.limit("more open files than are followed");
        }
    }
}
