//! Guests that a case controls, one of each kind except patterns, for which the example is used.

/// The guests' names with their sources.
pub const ALL: &[(&str, &str)] = &[("talker", TALKER), ("answerer", ANSWERER), ("writer", WRITER)];

/// A risk-calculator that the command controls.
const TALKER: &str = r#"
use portcullis_plugin::host;
use portcullis_plugin::risk_calculator::*;
use portcullis_plugin::types::Entry;

struct Talker;

impl RiskCalculator for Talker {
    const DESCRIPTOR: Descriptor = Descriptor::new("talker", "0.1.0", "A guest of the tests.")
        .settings(&[Spec::text("word", "frob", "the word that it objects to")]);

    fn assess(prepared: &[u8], action: &Action, _: &Context) -> Result<Assessment, Error> {
        let settings = Settings::read(prepared)?;
        let said = |word: &str| action.parameters.contains(word);
        if said("panic") {
            give_up(action.parameters.len());
        }
        if said("log") {
            host::info("it said log");
        }
        if said(settings.text("word")?) {
            return Ok(Ruling::ask("no_frobbing", "frobbing is for people")
                .severity(Severity::High)
                .because(Evidence::path("/project/frob"))
                .instead("ask somebody")
                .into());
        }
        if action.facts.paths.iter().any(|path| path.entry == Entry::Absent) {
            return Ok(Ruling::warn("not_there", "there is nothing").into());
        }
        if said("stop") || said("for the first version") {
            return Ok(Ruling::block("no_stopping", "it goes on").into());
        }
        Ok(Assessment::nothing())
    }
}

#[inline(never)]
fn give_up(length: usize) {
    assert!(length == 0, "the sky fell");
}

portcullis_plugin::export!(risk-calculator: Talker);
"#;

/// An intervention that the issue's summary controls.
const ANSWERER: &str = r#"
use portcullis_plugin::host;
use portcullis_plugin::intervention::*;

struct Answerer;

impl Intervention for Answerer {
    const DESCRIPTOR: Descriptor = Descriptor::new("answerer", "0.1.0", "A guest of the tests.")
        .reads(&[Reads::Issue, Reads::Context])
        .settings(&[Spec::text("word", "stop", "what it says")]);

    fn intervene(prepared: &[u8], issue: &Issue, situation: &Situation, context: &Context) -> Result<Response, Error> {
        let settings = Settings::read(prepared)?;
        Ok(match issue.summary.as_str() {
            "panic" => panic!("the sky fell on {}", issue.name),
            "decline" => return Err(Error::failed("it knows nothing of that")),
            "log" => {
                host::info("it was asked");
                Guidance::saying("it logged").into()
            }
            "go back" => Response::Rollback(Rollback {
                checkpoint: issue.evidence_of("checkpoint").next().unwrap_or("nowhere").into(),
                guidance: Guidance::saying("the files are back"),
            }),
            "end" => Stop {
                message: "it ends here".into(),
                report: StopReport {
                    root_cause: issue.name.clone(),
                    contributing_factors: vec![],
                    immediate: vec!["look".into()],
                    preventive: vec![],
                    configuration: vec![],
                },
            }
            .into(),
            "give up" => Plan { reason: "nothing is known".into(), steps: vec!["look".into()] }.into(),
            "tighten" => Guidance::saying("less").limiting(Limit { quantity: Quantity::Tokens, maximum: 100, used: 0 }).into(),
            "tell" => Guidance {
                messages: vec![
                    format!("step {} from {}, level {}, score {}, {} times", situation.step, issue.first_step, situation.level, situation.score, issue.recurrences),
                    format!("{} steps, {} failed, {} goals", situation.totals.steps, situation.totals.failed, context.goals.len()),
                    format!("{:?} {} {}", issue.severity, issue.confidence, issue.impact),
                    situation.recent.join("; "),
                    situation.past.iter().map(|past| format!("{} {} {} {:?}", past.kind, past.issue, past.step, past.effectiveness)).collect::<Vec<_>>().join("; "),
                    situation.checkpoints.iter().map(|one| format!("{} {} {} {:?}", one.id, one.step, one.success_rate, one.unsafe_because)).collect::<Vec<_>>().join("; "),
                    situation.templates.iter().map(|one| format!("{} {}", one.name, one.value)).collect::<Vec<_>>().join("; "),
                    context.limits.iter().filter(|limit| matches!(limit.quantity, Quantity::Tokens | Quantity::Other(_))).map(|limit| format!("{} of {}", limit.used, limit.maximum)).collect::<Vec<_>>().join("; "),
                ],
                background: issue.evidence.iter().map(|one| Background { title: one.kind.clone(), text: one.value.clone(), emphasised: one.step.is_some() }).collect(),
                limits: vec![],
            }
            .into(),
            _ if settings.text("word")? == "nowhere" => {
                Response::Rollback(Rollback { checkpoint: "nowhere".into(), guidance: Guidance::saying("back") })
            }
            words => Guidance::saying(format!("{}: {words}", settings.text("word")?)).into(),
        })
    }
}

portcullis_plugin::export!(intervention: Answerer);
"#;

/// An exporter that its settings control.
const WRITER: &str = r##"
use portcullis_plugin::audit_exporter::*;

struct Writer;

impl AuditExporter for Writer {
    const DESCRIPTOR: Descriptor = Descriptor::new("writer", "0.1.0", "A guest of the tests.")
        .reads(&[Reads::Records])
        .settings(&[Spec::text("what", "lines", "what it writes")]);

    fn render(prepared: &[u8], records: &[AuditRecord], first: bool) -> Result<Rendered, Error> {
        let settings = Settings::read(prepared)?;
        let each = |line: &dyn Fn(&AuditRecord) -> String| -> String { records.iter().map(line).collect() };
        let text = match settings.text("what")? {
            "panic" => panic!("no ink"),
            "bytes" => return Ok(Rendered { bytes: vec![0, 159, 146, 150], content_type: "application/octet-stream".into() }),
            "chain" => each(&|record| format!("{} {}\n", record.previous, record.hash)),
            "documents" => each(&|record| format!("{}\n", record.document)),
            "whole" => each(&|record| format!("{} {} {} {:?}\n", record.id, record.at, record.session, record.agent)),
            "quotes" => "a \"\"\" and a \\ and a \r\n\"".into(),
            _ => format!("{}{}", if first { "# records\n" } else { "" }, each(&|record| {
                let verdict = record.decision.as_ref().map_or("-", |decision| decision.verdict.as_str());
                format!("{} {} {verdict} {}\n", record.sequence, record.kind.as_str(), record.summary)
            })),
        };
        Ok(Rendered::text(text, "text/plain; charset=utf-8"))
    }
}

portcullis_plugin::export!(audit-exporter: Writer);
"##;
