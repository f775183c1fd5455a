//! Conversions from the core's types to those of the WIT package. Nothing is judged or left out
//! here.

use crate::bindings::audit_exporter::exports::portcullis::plugin::exporter as e;
use crate::bindings::intervention::exports::portcullis::plugin::intervener as i;
use crate::bindings::types as w;
use crate::settings::{Setting, SettingValue};
use portcullis_core::action as a;
use portcullis_core::finding as f;
use portcullis_core::score::{Score, Severity, Verdict};
use std::sync::Arc;

macro_rules! same {
    ($name:ident, $from:path, $to:path, $($variant:ident),+) => {
        pub(crate) fn $name(value: $from) -> $to {
            use $from as From;
            use $to as To;
            match value { $(From::$variant => To::$variant,)+ }
        }
    };
}

same!(severity, Severity, w::Severity, Low, Medium, High, Critical);
same!(verdict, Verdict, w::Verdict, Allow, Warn, Modify, Ask, Block);
same!(coverage, a::Coverage, w::Coverage, Full, Partial);
same!(direction, a::Direction, w::Direction, Input, Output, Append, Duplicate, Heredoc);
same!(access, a::Access, w::Access, Read, Create, Modify, Delete, Search);
same!(status, a::Status, w::Status, Pending, Ok, Failed, Refused);
same!(scope, a::Scope, w::Scope, Inside, Scratch, Outside, System, Unknown);
same!(entry, a::Entry, w::Entry, Absent, File, Folder, Link, Special, Unknown);
same!(git_state, a::GitState, w::GitState, Clean, Changed, Untracked, Ignored, Unknown);
same!(
    intent,
    a::Intent,
    w::Intent,
    FileRead,
    FileCreation,
    FileModification,
    FileDeletion,
    SystemCommand,
    NetworkRequest,
    Message,
    Unknown
);

fn all<T, U>(items: &[T], convert: impl Fn(&T) -> U) -> Vec<U> {
    items.iter().map(convert).collect()
}

fn score(score: Option<Score>) -> Option<u16> {
    score.map(Score::get)
}

fn attributes(attributes: &[(String, String)]) -> Vec<w::Attribute> {
    attributes
        .iter()
        .map(|(name, value)| w::Attribute { name: name.clone(), value: value.clone() })
        .collect()
}

pub(crate) fn action(action: &a::Action) -> w::Action {
    w::Action {
        id: action.id.clone(),
        step: action.step,
        client: action.client.clone(),
        agent: action.agent.clone(),
        tool: action.tool.clone(),
        intent: intent(action.intent),
        operation: operation(&action.operation),
        facts: facts(&action.facts),
        parameters: action.parameters.clone(),
        outcome: action.outcome.as_ref().map(outcome),
        attributes: attributes(&action.attributes),
    }
}

fn operation(operation: &a::Operation) -> w::Operation {
    match operation {
        a::Operation::Shell(shell) => w::Operation::Shell(w::Shell {
            text: shell.text.clone(),
            commands: all(&shell.commands, command),
            background: shell.background,
            timeout_ms: shell.timeout_ms,
        }),
        a::Operation::File(file) => w::Operation::File(w::FileOperation {
            access: access(file.access),
            path: file.path.clone(),
            content: file.content.clone(),
            replaced: file.replaced.clone(),
            every: file.every,
        }),
        a::Operation::Network(request) => w::Operation::Network(w::NetworkRequest {
            url: request.url.clone(),
            method: request.method.clone(),
            body: request.body.clone(),
        }),
        a::Operation::Message(message) => w::Operation::Message(w::Message {
            recipient: message.recipient.clone(),
            text: message.text.clone(),
        }),
        a::Operation::Tool(call) => w::Operation::Tool(w::ToolCall {
            server: call.server.clone(),
            name: call.name.clone(),
            arguments: attributes(&call.arguments),
        }),
        a::Operation::Other(name) => w::Operation::Other(name.clone()),
    }
}

fn command(command: &a::Command) -> w::Command {
    w::Command {
        program: command.program.clone(),
        words: all(&command.words, word),
        assignments: attributes(&command.assignments),
        redirections: all(&command.redirections, |redirection| w::Redirection {
            descriptor: redirection.descriptor,
            direction: direction(redirection.direction),
            target: word(&redirection.target),
        }),
        wrappers: command.wrappers.clone(),
        origin: match &command.origin {
            a::Origin::Plain => w::Origin::Plain,
            a::Origin::Substitution => w::Origin::Substitution,
            a::Origin::Nested => w::Origin::Nested,
            a::Origin::FunctionBody => w::Origin::FunctionBody,
            a::Origin::Other(name) => w::Origin::Other(name.clone()),
        },
        input_from: command.input_from,
        start: command.start,
        end: command.end,
        privileged: command.privileged,
    }
}

fn word(word: &a::Word) -> w::Word {
    w::Word { text: word.text.clone(), known: word.known, quoted: word.quoted }
}

fn facts(facts: &a::Facts) -> w::Facts {
    w::Facts {
        effects: all(&facts.effects, effect),
        paths: all(&facts.paths, path),
        hosts: facts.hosts.clone(),
        programs: facts.programs.clone(),
        forms: all(&facts.forms, |form| w::Form {
            id: form.id.clone(),
            label: form.label.clone(),
            weight: form.weight.get(),
            command: form.command,
        }),
        shape: facts.shape,
        identity: facts.identity,
        coverage: coverage(facts.coverage),
        gaps: facts.limits.iter().chain(&facts.gaps).cloned().collect(),
    }
}

fn effect(effect: &a::Effect) -> w::Effect {
    w::Effect {
        kind: effect_kind(&effect.kind),
        target: effect.target.clone(),
        path: effect.path,
        command: effect.command,
        recursive: effect.recursive,
        certain: effect.certain,
    }
}

fn effect_kind(kind: &a::EffectKind) -> w::EffectKind {
    use a::EffectKind as From;
    use w::EffectKind as To;
    match kind {
        From::FileRead => To::FileRead,
        From::FileCreate => To::FileCreate,
        From::FileModify => To::FileModify,
        From::FileDelete => To::FileDelete,
        From::ProcessStart => To::ProcessStart,
        From::ProcessStop => To::ProcessStop,
        From::Network => To::Network,
        From::Send => To::Send,
        From::Publish => To::Publish,
        From::RemoteChange => To::RemoteChange,
        From::RemoteDelete => To::RemoteDelete,
        From::Discard => To::Discard,
        From::SystemChange => To::SystemChange,
        From::Persistence => To::Persistence,
        From::Privilege => To::Privilege,
        From::Evade => To::Evade,
        From::SecretRead => To::SecretRead,
        From::UnseenCode => To::UnseenCode,
        From::ResourceUse => To::ResourceUse,
        From::Other(name) => To::Other(name.clone()),
    }
}

fn path(path: &a::Path) -> w::Path {
    w::Path {
        text: path.text.clone(),
        glob: path.glob,
        scope: scope(path.scope),
        entry: entry(path.entry),
        link_target: path.link_target.clone(),
        git: git_state(path.git),
        restorable: path.restorable,
    }
}

fn outcome(outcome: &a::Outcome) -> w::Outcome {
    w::Outcome {
        at: outcome.at,
        status: status(outcome.status),
        exit_code: outcome.exit_code,
        error: outcome.error.clone(),
        output: outcome.output.clone(),
        duration_ms: outcome.duration_ms,
        bytes: outcome.bytes,
        tokens: outcome.tokens,
    }
}

pub(crate) fn detail(detail: &a::StepDetail) -> w::StepDetail {
    w::StepDetail {
        tool: detail.tool.clone(),
        parameters: detail.parameters.clone(),
        effects: all(&detail.effects, effect),
        paths: all(&detail.paths, path),
        outcome: detail.outcome.as_ref().map(outcome),
    }
}

pub(crate) fn context(context: &a::Context) -> w::Context {
    w::Context {
        session: context.session.clone(),
        now: context.now,
        cwd: context.cwd.clone(),
        roots: context.roots.clone(),
        goals: all(&context.goals, |goal| w::Goal {
            text: goal.text.clone(),
            at: goal.at,
            priority: goal.priority,
        }),
        limits: all(&context.limits, limit),
        repetition: w::Repetition {
            failures: context.repetition.failures,
            successes: context.repetition.successes,
            seen: context.repetition.seen,
        },
        assessments: all(&context.assessments, |assessed| w::Assessed {
            plugin: assessed.plugin.clone(),
            risk: score(assessed.risk),
            rationality: score(assessed.rationality),
            alignment: score(assessed.alignment),
            verdict: verdict(assessed.verdict),
            rules: assessed.rules.clone(),
        }),
        attributes: attributes(&context.attributes),
    }
}

fn limit(limit: &a::Limit) -> w::Limit {
    let quantity = match &limit.quantity {
        a::Quantity::FileOperations => w::Quantity::FileOperations,
        a::Quantity::Memory => w::Quantity::Memory,
        a::Quantity::Tokens => w::Quantity::Tokens,
        a::Quantity::Time => w::Quantity::Time,
        a::Quantity::BatchSize => w::Quantity::BatchSize,
        a::Quantity::Other(name) => w::Quantity::Other(name.clone()),
    };
    w::Limit { quantity, maximum: limit.maximum, used: limit.used }
}

pub(crate) fn steps(steps: &[a::Step]) -> Arc<[w::Step]> {
    steps.iter().map(step).collect()
}

fn step(step: &a::Step) -> w::Step {
    w::Step {
        index: step.index,
        at: step.at,
        intent: intent(step.intent),
        verdict: verdict(step.verdict),
        status: status(step.status),
        shape: step.shape,
        identity: step.identity,
        error: step.error,
        output: step.output,
        risk: step.risk.get(),
        alignment: score(step.alignment),
        effects: step.effects,
        outside: step.outside,
        files: step.files,
        prompt: step.prompt,
        bytes: step.bytes,
        tokens: step.tokens,
        duration_ms: step.duration_ms,
    }
}

pub(crate) fn totals(totals: &a::Totals) -> w::Totals {
    w::Totals {
        steps: totals.steps,
        warned: totals.warned,
        modified: totals.modified,
        asked: totals.asked,
        blocked: totals.blocked,
        failed: totals.failed,
        files: totals.files,
        bytes: totals.bytes,
        tokens: totals.tokens,
        duration_ms: totals.duration_ms,
        prompts: totals.prompts,
        interventions: totals.interventions,
    }
}

pub(crate) fn issue(issue: &f::Issue) -> i::Issue {
    i::Issue {
        name: issue.name.clone(),
        severity: severity(issue.severity),
        confidence: issue.confidence.get(),
        impact: issue.impact.get(),
        first_step: issue.first_step,
        summary: issue.summary.clone(),
        evidence: all(&issue.evidence, |item| w::Evidence {
            kind: item.kind.clone(),
            value: item.value.clone(),
            step: item.step,
        }),
        recurrences: issue.recurrences,
    }
}

pub(crate) fn situation(situation: &f::Situation) -> i::Situation {
    i::Situation {
        step: situation.step,
        level: situation.level,
        score: situation.score,
        totals: totals(&situation.totals),
        checkpoints: all(&situation.checkpoints, |checkpoint| i::Checkpoint {
            id: checkpoint.id.clone(),
            step: checkpoint.step,
            at: checkpoint.at,
            success_rate: checkpoint.success_rate.get(),
            unsafe_because: checkpoint.unsafe_because.clone(),
        }),
        past: all(&situation.past, |past| i::PastIntervention {
            kind: past.kind.clone(),
            issue: past.issue.clone(),
            step: past.step,
            at: past.at,
            effectiveness: score(past.effectiveness),
        }),
        recent: situation.recent.clone(),
        templates: attributes(&situation.templates),
    }
}

pub(crate) fn record(record: &f::AuditRecord) -> e::AuditRecord {
    e::AuditRecord {
        sequence: record.sequence,
        id: record.id.clone(),
        at: record.at,
        kind: match record.kind.as_str() {
            "review" => e::RecordKind::Review,
            "outcome" => e::RecordKind::Outcome,
            "unreviewed" => e::RecordKind::Unreviewed,
            "intervention" => e::RecordKind::Intervention,
            "session" => e::RecordKind::Session,
            "configuration" => e::RecordKind::Configuration,
            "fault" => e::RecordKind::Fault,
            other => e::RecordKind::Other(other.to_owned()),
        },
        session: record.session.clone(),
        agent: record.agent.clone(),
        subject: record.subject.clone(),
        summary: record.summary.clone(),
        decision: record.decision.as_ref().map(|decision| e::Decision {
            verdict: verdict(decision.verdict),
            risk: decision.risk.get(),
            rationality: score(decision.rationality),
            confidence: decision.confidence.get(),
            reasons: decision.reasons.clone(),
            sources: decision.sources.clone(),
        }),
        detections: all(&record.detections, |detection| e::Detected {
            pattern: detection.pattern.clone(),
            severity: severity(detection.severity),
            confidence: detection.confidence.get(),
            impact: detection.impact.get(),
        }),
        faults: all(&record.faults, |fault| e::Faulted {
            source: fault.source.clone(),
            name: fault.name.clone(),
            detail: fault.detail.clone(),
        }),
        previous: record.previous.clone(),
        hash: record.hash.clone(),
        document: record.document.clone(),
        attributes: attributes(&record.attributes),
    }
}

pub(crate) fn settings(settings: &[Setting]) -> Vec<w::Setting> {
    all(settings, |setting| w::Setting {
        key: setting.key.clone(),
        value: match &setting.value {
            SettingValue::Text(text) => w::SettingValue::Text(text.clone()),
            SettingValue::Integer(number) => w::SettingValue::Integer(*number),
            SettingValue::Decimal(number) => w::SettingValue::Decimal(*number),
            SettingValue::Flag(flag) => w::SettingValue::Flag(*flag),
            SettingValue::Texts(texts) => w::SettingValue::Texts(texts.clone()),
        },
    })
}
