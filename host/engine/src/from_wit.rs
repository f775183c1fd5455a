//! Conversions from the WIT package's types to the core's; each value is checked on the way.

use crate::bindings::audit_exporter::exports::portcullis::plugin::exporter as e;
use crate::bindings::intervention::exports::portcullis::plugin::intervener as i;
use crate::bindings::pattern::exports::portcullis::plugin::detector as d;
use crate::bindings::risk_calculator::exports::portcullis::plugin::assessor as r;
use crate::bindings::types as w;
use crate::check::{
    self, EVIDENCE_BYTES, FEW_ITEMS, ITEMS, MESSAGES, RENDERED_BYTES, STATE_BYTES, bad, line,
    lines, list, maybe, prose, score,
};
use crate::faults::UnnamedFault;
use crate::text;
use portcullis_core::action::{Limit, Quantity};
use portcullis_core::finding as f;
use portcullis_core::score::{Severity, Verdict};

type Checked<T> = Result<T, UnnamedFault>;

fn severity(severity: w::Severity) -> Severity {
    match severity {
        w::Severity::Low => Severity::Low,
        w::Severity::Medium => Severity::Medium,
        w::Severity::High => Severity::High,
        w::Severity::Critical => Severity::Critical,
    }
}

fn verdict(objection: r::Objection) -> Verdict {
    match objection {
        r::Objection::Warn => Verdict::Warn,
        r::Objection::Modify => Verdict::Modify,
        r::Objection::Ask => Verdict::Ask,
        r::Objection::Block => Verdict::Block,
    }
}

fn evidence(items: Vec<w::Evidence>) -> Checked<Vec<f::Evidence>> {
    list("evidence", items, ITEMS, |item| {
        Ok(f::Evidence {
            kind: line("evidence.kind", &item.kind)?,
            value: text::line(check::bounded("evidence.value", &item.value, EVIDENCE_BYTES)?),
            step: item.step,
        })
    })
}

pub(crate) fn assessment(assessment: r::Assessment) -> Checked<f::Assessment> {
    Ok(f::Assessment {
        risk: maybe(assessment.risk, risk)?,
        rationality: maybe(assessment.rationality, rationality)?,
        side_effects: maybe(assessment.side_effects, |items| {
            list("side-effects", items, ITEMS, side_effect)
        })?,
        rulings: list("rulings", assessment.rulings, ITEMS, ruling)?,
    })
}

fn risk(risk: r::Risk) -> Checked<f::Risk> {
    Ok(f::Risk {
        score: score("risk.score", risk.score)?,
        factors: list("risk.factors", risk.factors, ITEMS, factor)?,
    })
}

fn factor(factor: r::Factor) -> Checked<f::Factor> {
    Ok(f::Factor {
        id: line("factor.id", &factor.id)?,
        kind: match factor.kind {
            r::FactorKind::Base => f::FactorKind::Base,
            r::FactorKind::Scope => f::FactorKind::Scope,
            r::FactorKind::Repetition => f::FactorKind::Repetition,
            r::FactorKind::Privilege => f::FactorKind::Privilege,
            r::FactorKind::Form => f::FactorKind::Form,
            r::FactorKind::Custom => f::FactorKind::Custom,
        },
        weight: score("factor.weight", factor.weight)?,
        reason: prose("factor.reason", &factor.reason)?,
        evidence: evidence(factor.evidence)?,
    })
}

fn rationality(rationality: r::Rationality) -> Checked<f::Rationality> {
    Ok(f::Rationality {
        alignment: maybe(rationality.alignment, |value| score("rationality.alignment", value))?,
        progression: maybe(rationality.progression, |value| {
            score("rationality.progression", value)
        })?,
        efficiency: maybe(rationality.efficiency, |value| score("rationality.efficiency", value))?,
        completeness: maybe(rationality.completeness, |value| {
            score("rationality.completeness", value)
        })?,
        issues: lines("rationality.issues", rationality.issues)?,
        suggestions: lines("rationality.suggestions", rationality.suggestions)?,
    })
}

fn side_effect(effect: r::SideEffect) -> Checked<f::SideEffect> {
    Ok(f::SideEffect {
        kind: match effect.kind {
            r::SideEffectKind::FileWrite => f::SideEffectKind::FileWrite,
            r::SideEffectKind::FileDeletion => f::SideEffectKind::FileDeletion,
            r::SideEffectKind::SystemChange => f::SideEffectKind::SystemChange,
            r::SideEffectKind::Process => f::SideEffectKind::Process,
            r::SideEffectKind::Network => f::SideEffectKind::Network,
            r::SideEffectKind::ResourceUse => f::SideEffectKind::ResourceUse,
            r::SideEffectKind::Other(name) => {
                f::SideEffectKind::Other(line("side-effect.kind", &name)?)
            }
        },
        target: line("side-effect.target", &effect.target)?,
        severity: severity(effect.severity),
        reversible: effect.reversible,
        mitigation: maybe(effect.mitigation, |words| prose("side-effect.mitigation", &words))?,
    })
}

fn ruling(ruling: r::Ruling) -> Checked<f::Ruling> {
    Ok(f::Ruling {
        rule: line("ruling.rule", &ruling.rule)?,
        verdict: verdict(ruling.objection),
        severity: severity(ruling.severity),
        reason: prose("ruling.reason", &ruling.reason)?,
        evidence: evidence(ruling.evidence)?,
        alternatives: lines("ruling.alternatives", ruling.alternatives)?,
        rewrite: maybe(ruling.rewrite, |rewrite| {
            Ok(f::Rewrite {
                edits: list("rewrite.edits", rewrite.edits, FEW_ITEMS, edit)?,
                explanation: prose("rewrite.explanation", &rewrite.explanation)?,
            })
        })?,
    })
}

fn edit(edit: r::Edit) -> Checked<f::Edit> {
    let change = match edit.change {
        r::Change::SetText(text) => {
            f::Change::SetText(check::parameter_text("edit.set-text", text)?)
        }
        r::Change::SetInteger(number) => f::Change::SetInteger(number),
        r::Change::SetFlag(flag) => f::Change::SetFlag(flag),
        r::Change::Splice(splice) if splice.start > splice.end => {
            return Err(bad("edit.splice", "ends before it starts"));
        }
        r::Change::Splice(splice) => f::Change::Splice {
            start: splice.start,
            end: splice.end,
            text: check::parameter_text("edit.splice", splice.text)?,
        },
        r::Change::Remove => f::Change::Remove,
    };
    Ok(f::Edit { parameter: check::parameter_text("edit.parameter", edit.parameter)?, change })
}

pub(crate) fn report(report: d::Report) -> Checked<f::Report> {
    Ok(f::Report {
        detections: list("detections", report.detections, FEW_ITEMS, detection)?,
        state: maybe(report.state, |state| check::bytes("state", state, STATE_BYTES))?,
    })
}

fn detection(detection: d::Detection) -> Checked<f::Detection> {
    Ok(f::Detection {
        pattern: line("detection.pattern", &detection.pattern)?,
        severity: severity(detection.severity),
        confidence: score("detection.confidence", detection.confidence)?,
        impact: score("detection.impact", detection.impact)?,
        first_step: detection.first_step,
        summary: prose("detection.summary", &detection.summary)?,
        evidence: evidence(detection.evidence)?,
    })
}

pub(crate) fn response(response: i::Response) -> Checked<f::Response> {
    Ok(match response {
        i::Response::Guide(words) => f::Response::Guide(guidance(words)?),
        i::Response::Rollback(rollback) => f::Response::Rollback {
            checkpoint: line("rollback.checkpoint", &rollback.checkpoint)?,
            guidance: guidance(rollback.guidance)?,
        },
        i::Response::Stop(stop) => f::Response::Stop {
            message: prose("stop.message", &stop.message)?,
            report: stop_report(stop.report)?,
        },
        i::Response::RecoveryNeeded(plan) => f::Response::RecoveryNeeded {
            reason: prose("plan.reason", &plan.reason)?,
            steps: lines("plan.steps", plan.steps)?,
        },
    })
}

fn guidance(guidance: i::Guidance) -> Checked<f::Guidance> {
    Ok(f::Guidance {
        messages: list("guidance.messages", guidance.messages, MESSAGES, |message| {
            prose("guidance.messages", &message)
        })?,
        background: list("guidance.background", guidance.background, ITEMS, |item| {
            Ok(f::Background {
                title: line("background.title", &item.title)?,
                text: prose("background.text", &item.text)?,
                emphasised: item.emphasised,
            })
        })?,
        limits: list("guidance.limits", guidance.limits, ITEMS, limit)?,
    })
}

fn limit(limit: w::Limit) -> Checked<Limit> {
    let quantity = match limit.quantity {
        w::Quantity::FileOperations => Quantity::FileOperations,
        w::Quantity::Memory => Quantity::Memory,
        w::Quantity::Tokens => Quantity::Tokens,
        w::Quantity::Time => Quantity::Time,
        w::Quantity::BatchSize => Quantity::BatchSize,
        w::Quantity::Other(name) => Quantity::Other(line("limit.quantity", &name)?),
    };
    Ok(Limit { quantity, maximum: limit.maximum, used: limit.used })
}

fn stop_report(report: i::StopReport) -> Checked<f::StopReport> {
    Ok(f::StopReport {
        root_cause: prose("report.root-cause", &report.root_cause)?,
        contributing_factors: lines("report.contributing-factors", report.contributing_factors)?,
        immediate: lines("report.immediate", report.immediate)?,
        preventive: lines("report.preventive", report.preventive)?,
        configuration: lines("report.configuration", report.configuration)?,
    })
}

pub(crate) fn rendered(rendered: e::Rendered) -> Checked<f::Rendered> {
    Ok(f::Rendered {
        bytes: check::bytes("rendered.bytes", rendered.bytes, RENDERED_BYTES)?,
        content_type: line("rendered.content-type", &rendered.content_type)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{PREPARED_BYTES, TEXT_BYTES};
    use portcullis_core::fault::FaultKind::{self, BadValue, OutputTooLarge};

    fn empty() -> r::Assessment {
        r::Assessment { risk: None, rationality: None, side_effects: None, rulings: vec![] }
    }

    fn ruling_of(objection: r::Objection, change: r::Change) -> r::Assessment {
        let rewrite = r::Rewrite {
            edits: vec![r::Edit { parameter: "command".into(), change }],
            explanation: "safer".into(),
        };
        let ruling = r::Ruling {
            rule: "rule".into(),
            objection,
            severity: w::Severity::High,
            reason: "why".into(),
            evidence: vec![w::Evidence { kind: "path".into(), value: "/x".into(), step: Some(1) }],
            alternatives: vec!["less".into()],
            rewrite: Some(rewrite),
        };
        r::Assessment { rulings: vec![ruling], ..empty() }
    }

    fn risk_of(score: u16, weight: u16, evidence: usize, value: usize) -> r::Assessment {
        let item = w::Evidence { kind: "path".into(), value: "v".repeat(value), step: None };
        let factor = r::Factor {
            id: "base".into(),
            kind: r::FactorKind::Base,
            weight,
            reason: "because".into(),
            evidence: vec![item; evidence],
        };
        r::Assessment { risk: Some(r::Risk { score, factors: vec![factor] }), ..empty() }
    }

    fn text_edit(text: &str) -> r::Change {
        r::Change::SetText(text.into())
    }

    fn splice(start: u32, end: u32) -> r::Change {
        r::Change::Splice(r::Splice { start, end, text: "x".into() })
    }

    fn edits(count: usize) -> r::Assessment {
        let mut assessment = ruling_of(r::Objection::Modify, r::Change::Remove);
        for rewrite in assessment.rulings.iter_mut().filter_map(|ruling| ruling.rewrite.as_mut()) {
            rewrite.edits = vec![rewrite.edits[0].clone(); count];
        }
        assessment
    }

    #[test]
    fn assessments_keep_the_contract_or_are_none() {
        use r::Objection::{Block, Modify};
        let table: Vec<(&str, r::Assessment, Result<(), FaultKind>)> = vec![
            ("nothing", empty(), Ok(())),
            ("the most", risk_of(1000, 1000, ITEMS, EVIDENCE_BYTES), Ok(())),
            ("a score above 1000", risk_of(1001, 0, 0, 0), Err(BadValue)),
            ("a weight above 1000", risk_of(0, 65535, 0, 0), Err(BadValue)),
            ("too much evidence", risk_of(0, 0, ITEMS + 1, 0), Err(OutputTooLarge)),
            ("evidence too long", risk_of(0, 0, 1, EVIDENCE_BYTES + 1), Err(OutputTooLarge)),
            ("a block", ruling_of(Block, text_edit("ls\n\tpwd")), Ok(())),
            (
                "an escape in a parameter",
                ruling_of(Modify, text_edit("ls \u{1b}[8m; rm")),
                Err(BadValue),
            ),
            (
                "an override in a parameter",
                ruling_of(Modify, text_edit("ls \u{202e}x")),
                Err(BadValue),
            ),
            (
                "a parameter too long",
                ruling_of(Modify, text_edit(&"x".repeat(TEXT_BYTES + 1))),
                Err(OutputTooLarge),
            ),
            ("a splice", ruling_of(Modify, splice(3, 3)), Ok(())),
            ("a splice backwards", ruling_of(Modify, splice(4, 3)), Err(BadValue)),
            ("16 edits", edits(FEW_ITEMS), Ok(())),
            ("17 edits", edits(FEW_ITEMS + 1), Err(OutputTooLarge)),
            (
                "too many rulings",
                r::Assessment { rulings: vec![edits(1).rulings[0].clone(); ITEMS + 1], ..empty() },
                Err(OutputTooLarge),
            ),
        ];
        for (name, given, expected) in table {
            assert_eq!(
                assessment(given).map(|_| ()).map_err(|failure| failure.kind),
                expected,
                "{name}"
            );
        }
    }

    #[test]
    fn reports_keep_the_contract_or_are_none() {
        let found = |confidence, impact| d::Detection {
            pattern: "loop".into(),
            severity: w::Severity::Low,
            confidence,
            impact,
            first_step: 1,
            summary: "round and round".into(),
            evidence: vec![],
        };
        let with = |detections, state| d::Report { detections, state };
        let table = [
            ("nothing", with(vec![], None), Ok(())),
            (
                "the most",
                with(vec![found(1000, 1000); FEW_ITEMS], Some(vec![0; STATE_BYTES])),
                Ok(()),
            ),
            ("17 detections", with(vec![found(1, 1); FEW_ITEMS + 1], None), Err(OutputTooLarge)),
            ("too sure", with(vec![found(1001, 0)], None), Err(BadValue)),
            ("too much of it", with(vec![found(0, 1001)], None), Err(BadValue)),
            ("too much state", with(vec![], Some(vec![0; STATE_BYTES + 1])), Err(OutputTooLarge)),
        ];
        for (name, given, expected) in table {
            assert_eq!(
                report(given).map(|_| ()).map_err(|failure| failure.kind),
                expected,
                "{name}"
            );
        }
    }

    #[test]
    fn guidance_keeps_the_contract_or_is_none() {
        let guide = |messages| {
            i::Response::Guide(i::Guidance { messages, background: vec![], limits: vec![] })
        };
        let table = [
            ("8 messages", guide(vec!["try\nthis".into(); MESSAGES]), Ok(())),
            ("9 messages", guide(vec!["try this".into(); MESSAGES + 1]), Err(OutputTooLarge)),
            ("a long message", guide(vec!["x".repeat(TEXT_BYTES + 1)]), Err(OutputTooLarge)),
            (
                "a long plan",
                i::Response::RecoveryNeeded(i::Plan {
                    reason: String::new(),
                    steps: vec![String::new(); ITEMS + 1],
                }),
                Err(OutputTooLarge),
            ),
        ];
        for (name, given, expected) in table {
            assert_eq!(
                response(given).map(|_| ()).map_err(|failure| failure.kind),
                expected,
                "{name}"
            );
        }
    }

    /// Text for a person or the agent has its hidden characters escaped; line breaks stay only in
    /// prose.
    #[test]
    fn words_are_spelled_out() {
        let mut given = ruling_of(r::Objection::Block, r::Change::Remove);
        given.rulings[0].rule = "a\nb".into();
        given.rulings[0].reason = "a\nb\u{1b}".into();
        given.rulings[0].evidence[0].value = "\u{202e}".into();
        let ruling = assessment(given).map(|mut found| found.rulings.remove(0)).unwrap();
        assert_eq!((ruling.rule.as_str(), ruling.reason.as_str()), ("a\\nb", "a\nb\\u{1b}"));
        assert_eq!(ruling.evidence[0].value, "\\u{202e}");
    }

    #[test]
    fn bytes_have_their_own_limits() {
        for (length, expected) in
            [(RENDERED_BYTES, Ok(())), (RENDERED_BYTES + 1, Err(OutputTooLarge))]
        {
            let given = e::Rendered { bytes: vec![0; length], content_type: "text/csv".into() };
            assert_eq!(rendered(given).map(|_| ()).map_err(|failure| failure.kind), expected);
        }
        assert!(check::bytes("prepared", vec![0; PREPARED_BYTES], PREPARED_BYTES).is_ok());
    }
}
