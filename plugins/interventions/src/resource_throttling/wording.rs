//! The builtin wording, as templates like an operator's.
//!
//! A message has three parts: words for the issue, the notice of the limits, and advice on using
//! less. Each is replaced by its name: the issue's, `notice` (or `unchanged`, if no limit could be
//! tightened), `efficiency`. In addition to the placeholders of `portcullis_plugin::template` there
//! are `{new.NAME}` (a limit's new value, its old one and the used amount) and `{growth.NAME}` for
//! each NAME below, and `{earlier}` from the second time on.

use portcullis_plugin::intervention::Quantity;
use portcullis_plugin::template::Wording;

/// The limited quantities, by the name in placeholders.
pub(super) const NAMES: &[(Quantity, &str)] = &[
    (Quantity::FileOperations, "file_operations"),
    (Quantity::Memory, "memory"),
    (Quantity::Tokens, "tokens"),
    (Quantity::Time, "time"),
    (Quantity::BatchSize, "batch_size"),
];

/// The texts of the intervention.
pub(super) const THROTTLING: Wording = Wording {
    kind: "resource_throttling",
    prefix: "resource_throttling.",
    texts: TEXTS,
    default: DEFAULT,
    extra: &[
        "earlier",
        "new.file_operations",
        "new.memory",
        "new.tokens",
        "new.time",
        "new.batch_size",
        "growth.file_operations",
        "growth.memory",
        "growth.tokens",
        "growth.time",
        "growth.batch_size",
    ],
};

const TEXTS: &[(&str, &str)] = &[
    (
        "notice",
        "\
From now on these limits are in force. The configured ones come back once the work goes on without a finding for a while.
- File operations (writes and deletes) for a prompt: {new.file_operations}
- Memory: {new.memory}
- Tokens for a prompt: {new.tokens}
- Time for a prompt: {new.time}
- Items that one action treats: {new.batch_size}
What goes beyond is refused, where the system can measure it. If the task cannot be done within \
this, tell the person what it needs.",
    ),
    (
        "unchanged",
        "\
No limit can be made tighter than it is, so they stay.
In force: {limits}",
    ),
    (
        "efficiency",
        "\
How to do with less.
- Files ({growth.file_operations}): change only those that the task needs, and remove temporary ones that you made.
- Output ({growth.memory}): ask for the part that you need (a range of lines, a count, the first matches).
- Tokens ({growth.tokens}): do not read again what you have read, and keep long output out of the conversation.
- Time ({growth.time}): run the one test or target that matters, not all of them.
- Do a small batch, look at what came of it, then do the next.
- Leave out every operation whose result you do not use.",
    ),
    (
        "repetitive_errors",
        "\
The same error keeps coming back, so the work goes on under limits.
What was seen: {summary}
The error: `{error}`
It has come back in spite of {earlier}.",
    ),
    (
        "scope_creep",
        "\
The work keeps leaving the task, so it goes on under limits.
What was seen: {summary}
Outside of it: {evidence.path}
You were asked to: {request}
It has gone on in spite of {earlier}.",
    ),
    (
        "resource_spiral",
        "\
The use of resources grows too fast, so the work goes on under limits.
What was seen: {summary}
Growth: {evidence.growth}
It has gone on in spite of {earlier}.",
    ),
    (
        "goal_drift",
        "\
The last steps do not serve the request, so what is left for it is kept together.
What was seen: {summary}
You were asked to: {request}
It has gone on in spite of {earlier}.",
    ),
    (
        "hallucination",
        "\
Much is spent on things that do not exist, so the work goes on under limits.
What was seen: {summary}
Not there: {evidence.path}
Not a command here: {evidence.command}
It has gone on in spite of {earlier}.",
    ),
    (
        "loop",
        "\
The same steps are repeated without effect, so the work goes on under limits.
What was seen: {summary}
The steps that repeat: {evidence.command}
It has gone on in spite of {earlier}.",
    ),
    (
        "blocked_then_bypassed",
        "\
What was refused has been tried again in another way, so the work goes on under limits.
What was seen: {summary}
It was refused as: {evidence.refused}
The attempt: `{command}`
It was tried again in spite of {earlier}.",
    ),
    (
        "secret_egress",
        "\
A secret was about to leave this machine, so the work goes on under limits.
What was seen: {summary}
It would go to: {evidence.host}
It has happened in spite of {earlier}.",
    ),
    (
        "instruction_injection",
        "\
Text that came from a tool has steered the work, so it goes on under limits.
What was seen: {summary}
It came from: {evidence.host}
You were asked to: {request}
It has happened in spite of {earlier}.",
    ),
    (
        "rule:*",
        "\
A rule that is in force here was broken, so the work goes on under limits: `{rule}`
Why it objects: {summary}
What could be done instead: {evidence.alternative}
It was broken again in spite of {earlier}.",
    ),
];

const DEFAULT: &str = "\
Something keeps going wrong here, so the work goes on under limits.
What was seen: {summary}
It began at step {first_step}; this is step {step}.
About: {evidence.path}
It has gone on in spite of {earlier}.";
