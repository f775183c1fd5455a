//! What several formats write of a record: its origin, the parts of its document that have a place in
//! them, and a decision in the words of a receiver.
//!
//! A document is read leniently: parts that are missing or of another shape are left out, since a
//! later version may write them, and a format that fails would hold every record after it back.

use portcullis_plugin::audit_exporter::{AuditRecord, Decision, RecordKind, Verdict};
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value, json};
use std::fmt;
use std::marker::PhantomData;

/// The most bytes of one text in a field that receivers index. The document itself is never cut.
pub(crate) const MOST_TEXT: usize = 8 << 10;

/// A record with what its document says.
pub(crate) struct ExportedRecord<'a> {
    pub(crate) record: &'a AuditRecord,
    pub(crate) document: Document,
    /// The command line that it is about.
    command: Option<String>,
}

/// The parts of a document that formats use.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Document {
    pub(crate) client: Lenient<String>,
    pub(crate) event: Lenient<String>,
    pub(crate) call: Lenient<String>,
    pub(crate) step: Lenient<u64>,
    pub(crate) mode: Lenient<String>,
    pub(crate) action: Lenient<RecordedAction>,
    pub(crate) decision: Lenient<RecordedDecision>,
    pub(crate) outcome: Lenient<Outcome>,
    pub(crate) intervention: Lenient<Intervention>,
    pub(crate) details: Lenient<Details>,
}

/// The named values of a record, as far as formats know places for them.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Details {
    /// The credential of a record of the kind `authentication`.
    pub(crate) credential: Lenient<String>,
    /// `used`, `refused` or `unreadable`.
    pub(crate) outcome: Lenient<String>,
}

/// An action, as far as formats know places for it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct RecordedAction {
    /// The parameters as JSON text. Texts in it are not repeated in the operation.
    pub(crate) parameters: Lenient<String>,
    pub(crate) operation: Lenient<Operation>,
}

/// The parameters of an action, typed. At most one is there.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Operation {
    pub(crate) shell: Lenient<Shell>,
    pub(crate) file: Lenient<FileOperation>,
    pub(crate) network: Lenient<NetworkRequest>,
    pub(crate) message: Lenient<Message>,
    pub(crate) tool: Lenient<ToolCall>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Shell {
    text: Lenient<String>,
}

/// The parameters of a command: its line, or its words.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CommandParameters {
    command: CommandLine,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum CommandLine {
    Line(String),
    Words(Vec<String>),
    Other(IgnoredAny),
}

impl Default for CommandLine {
    fn default() -> Self {
        Self::Other(IgnoredAny)
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct FileOperation {
    pub(crate) access: Lenient<String>,
    pub(crate) path: Lenient<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct NetworkRequest {
    pub(crate) url: Lenient<String>,
    pub(crate) method: Lenient<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Message {
    pub(crate) recipient: Lenient<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ToolCall {
    pub(crate) server: Lenient<String>,
    pub(crate) name: Lenient<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct RecordedDecision {
    pub(crate) risk_level: Lenient<String>,
    pub(crate) explanation: Lenient<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Outcome {
    pub(crate) status: Lenient<String>,
    pub(crate) exit_code: Lenient<i64>,
    pub(crate) duration_ms: Lenient<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Intervention {
    pub(crate) kind: Lenient<String>,
    pub(crate) issue: Lenient<String>,
}

/// A value that is left out if it has another shape.
#[derive(Debug)]
pub(crate) struct Lenient<T>(pub(crate) Option<T>);

impl<T> Default for Lenient<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> Lenient<T> {
    pub(crate) const fn get(&self) -> Option<&T> {
        self.0.as_ref()
    }
}

impl Lenient<String> {
    pub(crate) fn text(&self) -> &str {
        self.0.as_deref().unwrap_or_default()
    }
}

impl<'de, T: Part> Deserialize<'de> for Lenient<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PartVisitor(PhantomData)).map(Self)
    }
}

/// A value that is read from the shape of JSON that it has, and not from any other. Nothing is copied
/// aside for it: a document can be large.
trait Part: Sized {
    fn of_text(_: &str) -> Option<Self> {
        None
    }

    fn of_integer(_: i128) -> Option<Self> {
        None
    }

    fn of_map<'de, A: MapAccess<'de>>(map: A) -> Result<Option<Self>, A::Error> {
        IgnoredAny.visit_map(map).map(|_| None)
    }
}

impl Part for String {
    fn of_text(text: &str) -> Option<Self> {
        Some(text.to_owned())
    }
}

impl Part for u64 {
    fn of_integer(number: i128) -> Option<Self> {
        Self::try_from(number).ok()
    }
}

impl Part for i64 {
    fn of_integer(number: i128) -> Option<Self> {
        Self::try_from(number).ok()
    }
}

/// Objects, of which each field is read in the same way.
macro_rules! objects {
    ($($name:ident),+) => {
        $(impl Part for $name {
            fn of_map<'de, A: MapAccess<'de>>(map: A) -> Result<Option<Self>, A::Error> {
                Self::deserialize(MapAccessDeserializer::new(map)).map(Some)
            }
        })+
    };
}

objects!(
    Details,
    RecordedAction,
    Operation,
    Shell,
    FileOperation,
    NetworkRequest,
    Message,
    ToolCall,
    RecordedDecision,
    Outcome,
    Intervention
);

struct PartVisitor<T>(PhantomData<T>);

impl<'de, T: Part> Visitor<'de> for PartVisitor<T> {
    type Value = Option<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(T::of_text(text))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(T::of_integer(number.into()))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        Ok(T::of_integer(number.into()))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, sequence: A) -> Result<Self::Value, A::Error> {
        IgnoredAny.visit_seq(sequence).map(|_| None)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        T::of_map(map)
    }
}

impl<'a> ExportedRecord<'a> {
    pub(crate) fn read(record: &'a AuditRecord) -> Self {
        let document: Document = serde_json::from_str(&record.document).unwrap_or_default();
        let command = find_command(record, &document);
        Self { record, document, command }
    }

    /// Returns an attribute that the host gave; empty if there is none.
    pub(crate) fn attribute(&self, name: &str) -> &'a str {
        let mut named = self.record.attributes.iter();
        named.find(|known| known.name == name).map_or("", |known| &known.value)
    }

    /// Returns the machine's name; empty if it is unknown.
    pub(crate) fn host(&self) -> &'a str {
        self.attribute("host")
    }

    /// Returns the name of the journal.
    pub(crate) fn journal(&self) -> &'a str {
        match self.attribute("journal") {
            "" => "journal",
            name => name,
        }
    }

    /// Returns the client.
    pub(crate) fn client(&self) -> &str {
        match self.attribute("client") {
            "" => self.document.client.text(),
            client => client,
        }
    }

    /// Returns the client's event.
    pub(crate) fn event(&self) -> &str {
        match self.attribute("event") {
            "" => self.document.event.text(),
            event => event,
        }
    }

    /// Returns an id of a record that is the same each time it is exported, from its position.
    pub(crate) fn uid_of(&self, sequence: u64) -> String {
        format!("{}-{sequence}", self.journal())
    }

    /// Returns the parameters of its action, if it has one.
    pub(crate) fn operation(&self) -> Option<&Operation> {
        self.document.action.get()?.operation.get()
    }

    /// Returns the command line.
    pub(crate) fn command_line(&self) -> Option<&str> {
        self.command.as_deref()
    }

    /// Returns the file that it names.
    pub(crate) fn file(&self) -> Option<&FileOperation> {
        self.operation()?.file.get()
    }

    /// Returns the request that it makes.
    pub(crate) fn request(&self) -> Option<&NetworkRequest> {
        self.operation()?.network.get()
    }

    /// Returns true if nothing is enforced: decisions are recorded, and actions run.
    pub(crate) fn is_observing(&self) -> bool {
        self.document.mode.text() == "observe"
    }

    /// Adds what was decided, if anything was, under the names of the journal.
    pub(crate) fn add_decision(&self, fields: &mut Map<String, Value>) {
        let Some(decision) = &self.record.decision else { return };
        fields.insert("verdict".into(), decision.verdict.as_str().into());
        fields.insert("risk".into(), json!(fraction(decision.risk)));
        if let Some(rationality) = rationality(decision) {
            fields.insert("rationality".into(), json!(rationality));
        }
        fields.insert("confidence".into(), json!(fraction(decision.confidence)));
        fields.insert("reasons".into(), json!(decision.reasons));
        fields.insert("sources".into(), json!(decision.sources));
    }

    /// Adds the faults, if there are any.
    pub(crate) fn add_faults(&self, fields: &mut Map<String, Value>) {
        if self.record.faults.is_empty() {
            return;
        }
        let faults = self.record.faults.iter().map(|faulted| {
            json!({ "source": faulted.source, "name": faulted.name, "detail": faulted.detail })
        });
        fields.insert("faults".into(), faults.collect());
    }

    pub(crate) fn verdict(&self) -> Option<Verdict> {
        self.record.decision.as_ref().map(|decision| decision.verdict)
    }

    pub(crate) fn reasons(&self) -> &'a [String] {
        self.record.decision.as_ref().map_or(&[], |decision| &decision.reasons)
    }

    /// Returns how grave it is for somebody who watches many machines.
    pub(crate) fn gravity(&self) -> Gravity {
        let is_detection = self.record.detections.iter();
        let worst = is_detection.map(|detected| detected.severity as u8).max();
        let risk = self.record.decision.as_ref().map(|decision| decision.risk);
        let by_verdict = match self.verdict() {
            Some(Verdict::Block) => Gravity::High,
            Some(Verdict::Ask) => Gravity::Medium,
            Some(Verdict::Modify | Verdict::Warn) => Gravity::Low,
            Some(Verdict::Allow) | None => Gravity::Informational,
        };
        let by_kind = match &self.record.kind {
            RecordKind::Fault => Gravity::Medium,
            RecordKind::Unreviewed => Gravity::Low,
            RecordKind::Intervention => Gravity::Medium,
            _ => Gravity::Informational,
        };
        let by_detection = match worst {
            None => Gravity::Informational,
            Some(0) => Gravity::Low,
            Some(1) => Gravity::Medium,
            Some(2) => Gravity::High,
            Some(_) => Gravity::Critical,
        };
        let by_risk = match risk {
            Some(950..) if by_verdict >= Gravity::Medium => Gravity::Critical,
            _ => Gravity::Informational,
        };
        by_verdict.max(by_kind).max(by_detection).max(by_risk)
    }
}

/// How grave a record is, in five steps that every format has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Gravity {
    Informational = 1,
    Low = 2,
    Medium = 3,
    High = 4,
    Critical = 5,
}

/// Returns the command line of a record: from its operation, its parameters, or else its summary.
fn find_command(record: &AuditRecord, document: &Document) -> Option<String> {
    let action = document.action.get()?;
    let shell = action.operation.get()?.shell.get()?;
    if !shell.text.text().is_empty() {
        return Some(shell.text.text().to_owned());
    }
    let parameters: CommandParameters =
        serde_json::from_str(action.parameters.text()).unwrap_or_default();
    Some(match parameters.command {
        CommandLine::Line(line) => line,
        CommandLine::Words(words) => words.join(" "),
        CommandLine::Other(_) => {
            let rest = record.summary.strip_prefix(&record.subject);
            rest.and_then(|rest| rest.strip_prefix(": ")).unwrap_or(&record.summary).to_owned()
        }
    })
}

/// Returns a risk, or another score, from 0 to 1.
pub(crate) fn fraction(thousandths: u16) -> f64 {
    f64::from(thousandths) / 1000.0
}

/// Returns a decision's rationality, from 0 to 1.
pub(crate) fn rationality(decision: &Decision) -> Option<f64> {
    decision.rationality.map(fraction)
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_plugin::testing;

    #[test]
    fn a_document_of_another_shape_is_read_as_far_as_it_fits() {
        for (document, client, command, path) in [
            (
                r#"{"client":"c","action":{"operation":{"shell":{"text":"ls","commands":[]}}}}"#,
                "c",
                Some("ls"),
                None,
            ),
            (
                r#"{"client":1,"action":{"operation":{"file":{"path":"/a","access":"read"}}}}"#,
                "",
                None,
                Some("/a"),
            ),
            (
                r#"{"action":{"parameters":"{\"command\":\"ls -l\"}","operation":{"shell":{"text":""}}}}"#,
                "",
                Some("ls -l"),
                None,
            ),
            (
                r#"{"action":{"parameters":"{\"command\":[\"ls\",\"x\"]}","operation":{"shell":{}}}}"#,
                "",
                Some("ls x"),
                None,
            ),
            (
                r#"{"action":{"parameters":"{\"command\":1}","operation":{"shell":{}}}}"#,
                "",
                Some("ls"),
                None,
            ),
            (
                r#"{"action":{"parameters":"","operation":{"shell":{"text":""}}}}"#,
                "",
                Some("ls"),
                None,
            ),
            (r#"{"action":{"operation":{"shell":"ls"}}}"#, "", None, None),
            (r#"{"action":[1,2],"outcome":null}"#, "", None, None),
            (r#"{"action":{"operation":{"other":"x"}}}"#, "", None, None),
            ("[]", "", None, None),
            ("", "", None, None),
        ] {
            let mut record = testing::record(1);
            record.document = document.into();
            let exported = ExportedRecord::read(&record);
            assert_eq!(exported.client(), client, "{document}");
            assert_eq!(exported.command_line(), command, "{document}");
            assert_eq!(exported.file().map(|file| file.path.text()), path, "{document}");
        }
    }

    #[test]
    fn the_gravest_part_counts() {
        use portcullis_plugin::audit_exporter::{Detected, Severity};
        let detected =
            |severity| Detected { pattern: "loop".into(), severity, confidence: 1, impact: 1 };
        for (verdict, risk, kind, severity, expected) in [
            (Verdict::Allow, 100, RecordKind::Review, None, Gravity::Informational),
            (Verdict::Allow, 1000, RecordKind::Review, None, Gravity::Informational),
            (Verdict::Warn, 100, RecordKind::Review, None, Gravity::Low),
            (Verdict::Block, 900, RecordKind::Review, None, Gravity::High),
            (Verdict::Block, 950, RecordKind::Review, None, Gravity::Critical),
            (Verdict::Allow, 100, RecordKind::Review, Some(Severity::Low), Gravity::Low),
            (Verdict::Allow, 100, RecordKind::Review, Some(Severity::Critical), Gravity::Critical),
            (Verdict::Allow, 100, RecordKind::Fault, None, Gravity::Medium),
            (Verdict::Allow, 100, RecordKind::Other("x".into()), None, Gravity::Informational),
        ] {
            let mut record = testing::record(1);
            record.kind = kind;
            record.detections = severity.map(detected).into_iter().collect();
            if let Some(decision) = &mut record.decision {
                (decision.verdict, decision.risk) = (verdict, risk);
            }
            assert_eq!(ExportedRecord::read(&record).gravity(), expected, "{verdict:?} {risk}");
        }
    }
}
