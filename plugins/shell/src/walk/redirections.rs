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
