//! Windows over the newest steps, and the growth of their use.

use super::config::Config;
pub(super) use super::config::Resource;
use portcullis_builtin_shared::steps::ended;
use portcullis_plugin::types::Step;

/// The number of steps before the windows that make a session warm.
const BUSY: u64 = 5;
/// The number of windows that are compared.
pub(super) const WINDOWS: usize = 4;

/// The windows' steps, oldest first.
pub(super) type Windows<'a> = [Vec<&'a Step>; WINDOWS];

/// Returns true if the steps fill all windows of time, so that older ones would be in none.
pub(super) fn reach_back(config: &Config, steps: &[Step]) -> bool {
    let times = || steps.iter().map(|step| step.at);
    let spanned =
        times().max().zip(times().min()).map(|(newest, oldest)| newest.saturating_sub(oldest));
    spanned.is_some_and(|spanned| spanned >= config.window_ms.saturating_mul(WINDOWS as u64))
}

/// Returns true if the session was at work before the windows began. A session's first minutes rise
/// from nothing, which is not growth.
pub(super) fn is_warm(windows: &Windows<'_>) -> bool {
    let begin = windows.first().and_then(|window| window.first());
    begin.is_some_and(|step| step.index >= BUSY)
}

/// Cuts the history into windows: by time if it reaches back far enough, else by steps; none if
/// there are too few of these, too.
pub(super) fn windows<'a>(config: &Config, steps: &'a [Step]) -> Option<Windows<'a>> {
    let end = steps.iter().map(|step| step.at).max()?;
    let mut windows = Windows::default();
    let mut put = |age: usize, step: &'a Step| {
        if let Some(window) = (WINDOWS - 1).checked_sub(age).and_then(|at| windows.get_mut(at)) {
            window.push(step);
        }
    };
    if reach_back(config, steps) {
        for step in steps.iter().filter(|step| ended(step)) {
            put(
                usize::try_from(end.saturating_sub(step.at) / config.window_ms.max(1))
                    .unwrap_or(usize::MAX),
                step,
            );
        }
        return Some(windows);
    }
    let newest: Vec<&Step> = steps
        .iter()
        .rev()
        .filter(|step| ended(step))
        .take(config.window_steps.saturating_mul(WINDOWS))
        .collect();
    if newest.len() < config.window_steps.saturating_mul(WINDOWS) {
        return None;
    }
    for (position, step) in newest.into_iter().enumerate().rev() {
        put(position.checked_div(config.window_steps).unwrap_or(usize::MAX), step);
    }
    Some(windows)
}

/// The growth of one resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Growth {
    pub(super) resource: Resource,
    pub(super) used: [u128; WINDOWS],
    /// The mean ratio of a window to the one before, less one, in thousandths.
    pub(super) score: u32,
    /// The number of windows that used more than the one before.
    pub(super) grew: u32,
}

/// Returns the growth of a resource; none if a window used too little of it, or nothing grew. In a
/// session that is not warm, the growth after the first window has to be as great.
pub(super) fn growth(
    config: &Config,
    windows: &Windows<'_>,
    resource: Resource,
    warm: bool,
) -> Option<Growth> {
    let used = windows
        .each_ref()
        .map(|steps| steps.iter().map(|step| u128::from(resource.of(step))).sum::<u128>());
    let [first, second, _, last] = used;
    if used.iter().any(|window| *window < config.least(resource)) {
        return None;
    }
    let ratio = cube_root(last.saturating_mul(1_000_000_000).checked_div(first)?);
    let later = last.saturating_mul(1_000_000).checked_div(second)?.isqrt();
    let ratio = if warm { ratio } else { ratio.min(later) };
    let pairs = used.iter().zip(used.iter().skip(1));
    let grew = pairs.filter(|(before, after)| after > before).count();
    // One below the greatest number, since the memory keeps one more.
    let score = u32::try_from(ratio.saturating_sub(1000)).unwrap_or(u32::MAX - 1);
    (score > 0).then_some(Growth { resource, used, score, grew: u32::try_from(grew).unwrap_or(0) })
}

/// Returns the greatest whole number whose cube is at most `value`. The ratios of the windows
/// multiply to that of the last to the first, so their geometric mean is its cube root.
fn cube_root(value: u128) -> u128 {
    // The cube of 2^42 fits into 128 bits.
    let (mut low, mut high) = (0_u128, 1_u128 << 42);
    while low < high {
        let middle = (low + high).div_ceil(2);
        if middle * middle * middle <= value { low = middle } else { high = middle - 1 }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::cube_root;

    #[test]
    fn roots_are_rounded_down() {
        let cases = [
            (0, 0),
            (1, 1),
            (7, 1),
            (8, 2),
            (999_999_999, 999),
            (1_000_000_000, 1000),
            (5_832_000_000, 1800),
            (5_831_999_999, 1799),
        ];
        for (value, root) in cases {
            assert_eq!(cube_root(value), root, "{value}");
        }
        assert!(cube_root(u128::MAX) > 1 << 41);
    }
}
