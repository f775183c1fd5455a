//! The plugins of one stage, at the same time on several threads.
//!
//! Each thread takes the next plugin that nobody has taken. The answers are put together in the order
//! of the plugins, so they are those of one thread, whoever was faster. Past steps come from the
//! review's own thread, which has the journal open: it looks them up for the others between its own
//! plugins, and begins with those that ask for some.

use crate::helpers::StageHelp;
use crate::lazy_plugins::lock_slot;
use crate::plugin::LazyPlugin;
use portcullis_core::action::StepDetail;
use portcullis_core::plugins::{Details, PluginResponse};
use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A question for a past step, with the way of the answer.
type StepQuestion = (u64, Sender<Option<StepDetail>>);

/// Calls the plugins in these slots by `call`, and returns their answers in the same order.
pub(super) fn call_together<T: Send>(
    help: &StageHelp,
    slots: &[&Mutex<LazyPlugin>],
    details: &Details<'_>,
    call: impl Fn(&mut LazyPlugin, &Details<'_>) -> PluginResponse<T> + Sync,
) -> Vec<PluginResponse<T>> {
    let stage = Stage {
        waiting: Mutex::new(order_slots(slots)),
        answers: Mutex::new(slots.iter().map(|_| None).collect()),
        call_slot: |position: usize, details: &Details<'_>| {
            let mut slot = lock_slot(slots.get(position)?);
            let asks = Cell::new(false);
            let answer = call(&mut slot, &|step| {
                asks.set(true);
                details(step)
            });
            slot.asks_for_steps |= asks.get();
            Some(answer)
        },
    };
    // A plugin's span belongs to that of the review, whichever thread calls it.
    let span = tracing::Span::current();
    let (ask, asked) = channel::<StepQuestion>();
    let asking: Vec<_> = (0..help.count).map(|_| ask.clone()).collect();
    drop(ask);
    help.run(
        asking,
        |ask| {
            let _entered = span.enter();
            stage.help(&ask);
        },
        // It owns the questions: if it panics, nobody waits for an answer any more.
        || stage.lead(details, asked),
    );
    let answers = stage.answers.into_inner().unwrap_or_else(PoisonError::into_inner);
    answers.into_iter().flatten().collect()
}

/// Returns the positions of all slots: those whose plugins asked for past steps before come first.
fn order_slots(slots: &[&Mutex<LazyPlugin>]) -> VecDeque<usize> {
    let asks = |position: &usize| slots.get(*position).is_some_and(|s| lock_slot(s).asks_for_steps);
    let (asking, others): (Vec<_>, Vec<_>) = (0..slots.len()).partition(asks);
    asking.into_iter().chain(others).collect()
}

/// One stage while it runs.
struct Stage<T, C> {
    /// The positions of the plugins that nobody has taken.
    waiting: Mutex<VecDeque<usize>>,
    answers: Mutex<Vec<Option<PluginResponse<T>>>>,
    call_slot: C,
}

impl<T, C> Stage<T, C>
where
    C: Fn(usize, &Details<'_>) -> Option<PluginResponse<T>>,
{
    /// Calls plugins from the begin of the line on, and answers the questions of the others until
    /// they are done.
    fn lead(&self, details: &Details<'_>, asked: Receiver<StepQuestion>) {
        // A thread that no longer waits for its answer has ended by a panic, which is reported.
        let answer = |(step, answer): StepQuestion| drop(answer.send(details(step)));
        loop {
            // The lock ends with the statement.
            let next = lock(&self.waiting).pop_front();
            let Some(position) = next else { break };
            self.call(position, details);
            asked.try_iter().for_each(answer);
        }
        asked.into_iter().for_each(answer);
    }

    /// Calls plugins from the end of the line on.
    fn help(&self, ask: &Sender<StepQuestion>) {
        let details = |step: u64| {
            let (answer, answered) = channel();
            ask.send((step, answer)).ok()?;
            answered.recv().ok()?
        };
        loop {
            let next = lock(&self.waiting).pop_back();
            let Some(position) = next else { return };
            self.call(position, &details);
        }
    }

    fn call(&self, position: usize, details: &Details<'_>) {
        let answer = (self.call_slot)(position, details);
        if let Some(place) = lock(&self.answers).get_mut(position) {
            *place = answer;
        }
    }
}

/// Locks a list. A panic leaves none half-changed.
fn lock<T>(list: &Mutex<T>) -> MutexGuard<'_, T> {
    list.lock().unwrap_or_else(PoisonError::into_inner)
}
