//! The class of an event, with the fields that belong to it.

use crate::record::{Details, ExportedRecord, FileOperation, MOST_TEXT, NetworkRequest};
use portcullis_plugin::audit_exporter::RecordKind;
use portcullis_plugin::text::cut;
use serde_json::{Value, json};

/// A class with its activity. Numbers are those of the schema.
pub(super) struct EventClass {
    pub(super) uid: u16,
    pub(super) name: &'static str,
    pub(super) category: &'static str,
    pub(super) activity: u8,
    pub(super) activity_name: &'static str,
    pub(super) fields: Vec<(&'static str, Value)>,
    /// True if the class has the profile of operations by an AI agent.
    pub(super) has_agent: bool,
}

/// Chooses the class of a record.
pub(super) fn choose_class(exported: &ExportedRecord<'_>) -> EventClass {
    let record = exported.record;
    if is_stop(exported) {
        return incident(exported);
    }
    if !record.detections.is_empty() {
        return detection(exported);
    }
    if matches!(&record.kind, RecordKind::Other(kind) if kind == "authentication") {
        return authentication(exported);
    }
    let is_action =
        matches!(record.kind, RecordKind::Review | RecordKind::Outcome | RecordKind::Unreviewed);
    if !is_action {
        return lifecycle(exported);
    }
    if let Some(command) = exported.command_line() {
        return process(exported, command);
    }
    if let Some(file) = exported.file() {
        return file_activity(exported, file);
    }
    if let Some(request) = exported.request().filter(|request| is_url(request.url.text())) {
        return http(exported, request);
    }
    api(exported)
}

/// Returns true if the session was stopped.
fn is_stop(exported: &ExportedRecord<'_>) -> bool {
    let kind = exported.document.intervention.get().map(|intervention| intervention.kind.text());
    exported.record.kind == RecordKind::Intervention
        && kind.is_some_and(|kind| matches!(kind, "emergency_stop" | "emergency-stop"))
}

fn process(exported: &ExportedRecord<'_>, command: &str) -> EventClass {
    let mut fields = vec![
        ("actor", actor(exported)),
        ("device", device(exported)),
        ("process", json!({ "uid": call_of(exported), "cmd_line": cut(command, MOST_TEXT) })),
    ];
    fields.push(agent(exported));
    let outcome = exported.document.outcome.get();
    if let Some(code) = outcome.and_then(|outcome| outcome.exit_code.get()) {
        fields.push(("exit_code", (*code).into()));
    }
    fields.extend(status(exported));
    EventClass {
        uid: 1007,
        name: "Process Activity",
        category: "System Activity",
        activity: 1,
        activity_name: "Launch",
        fields,
        has_agent: true,
    }
}

fn file_activity(exported: &ExportedRecord<'_>, file: &FileOperation) -> EventClass {
    let (activity, activity_name) = match file.access.text() {
        "create" => (1, "Create"),
        "read" => (2, "Read"),
        "modify" => (3, "Update"),
        "delete" => (4, "Delete"),
        _ => (99, "Other"),
    };
    let name = file.path.text().rsplit('/').find(|part| !part.is_empty()).unwrap_or("/");
    let mut fields = vec![
        ("actor", actor(exported)),
        ("device", device(exported)),
        ("file", json!({ "name": name, "path": cut(file.path.text(), MOST_TEXT), "type_id": 0 })),
    ];
    fields.extend(status(exported));
    EventClass {
        uid: 1001,
        name: "File System Activity",
        category: "System Activity",
        activity,
        activity_name,
        fields,
        has_agent: false,
    }
}

fn http(exported: &ExportedRecord<'_>, request: &NetworkRequest) -> EventClass {
    let method = request.method.get().map_or("GET", String::as_str).to_ascii_uppercase();
    let (activity, activity_name) = match method.as_str() {
        "CONNECT" => (1, "Connect"),
        "DELETE" => (2, "Delete"),
        "GET" => (3, "Get"),
        "HEAD" => (4, "Head"),
        "OPTIONS" => (5, "Options"),
        "POST" => (6, "Post"),
        "PUT" => (7, "Put"),
        "TRACE" => (8, "Trace"),
        "PATCH" => (9, "Patch"),
        _ => (99, "Other"),
    };
    let url = json!({ "url_string": cut(request.url.text(), MOST_TEXT) });
    let mut fields = vec![
        ("actor", actor(exported)),
        ("device", device(exported)),
        ("http_request", json!({ "http_method": method, "url": url })),
    ];
    fields.extend(status(exported));
    EventClass {
        uid: 4002,
        name: "HTTP Activity",
        category: "Network Activity",
        activity,
        activity_name,
        fields,
        has_agent: false,
    }
}

fn api(exported: &ExportedRecord<'_>) -> EventClass {
    let record = exported.record;
    let tool = exported.operation().and_then(|operation| operation.tool.get());
    let message = exported.operation().and_then(|operation| operation.message.get());
    let mut api = json!({ "operation": record.subject });
    if let (Some(object), Some(tool)) = (api.as_object_mut(), tool) {
        if !tool.name.text().is_empty() {
            object.insert("operation".into(), tool.name.text().into());
        }
        if let Some(server) = tool.server.get() {
            object.insert("service".into(), json!({ "name": server }));
        }
    }
    let mut fields = vec![
        ("actor", actor(exported)),
        ("api", api),
        ("device", device(exported)),
        ("src_endpoint", json!({ "name": host_of(exported) })),
    ];
    fields.push(agent(exported));
    if let Some(recipient) =
        message.map(|message| message.recipient.text()).filter(|to| !to.is_empty())
    {
        fields.push(("resources", json!([{ "name": cut(recipient, MOST_TEXT) }])));
    }
    fields.extend(status(exported));
    EventClass {
        uid: 6003,
        name: "API Activity",
        category: "Application Activity",
        activity: 99,
        activity_name: "Other",
        fields,
        has_agent: true,
    }
}

fn lifecycle(exported: &ExportedRecord<'_>) -> EventClass {
    let (activity, activity_name) = match exported.event() {
        "SessionStart" => (3, "Start"),
        "SessionEnd" => (4, "Stop"),
        _ if exported.record.kind == RecordKind::Configuration => (8, "Update"),
        _ => (99, "Other"),
    };
    let is_configuration = exported.record.kind == RecordKind::Configuration;
    let client = exported.client();
    let app = if is_configuration || client.is_empty() { "portcullis" } else { client };
    let mut fields = vec![
        ("app", json!({ "name": app })),
        ("actor", actor(exported)),
        ("device", device(exported)),
    ];
    fields.extend(status(exported));
    EventClass {
        uid: 6002,
        name: "Application Lifecycle",
        category: "Application Activity",
        activity,
        activity_name,
        fields,
        has_agent: false,
    }
}

/// A use of a credential, or a sign-in to the page. The account is unknown, so its credential has its
/// place.
fn authentication(exported: &ExportedRecord<'_>) -> EventClass {
    let details = exported.document.details.get();
    let text = |part: fn(&Details) -> &str| details.map(part).unwrap_or_default();
    let credential = text(|details| details.credential.text());
    let (status_id, status) = match text(|details| details.outcome.text()) {
        "used" => (1, "Success"),
        "refused" | "unreadable" => (2, "Failure"),
        _ => (0, "Unknown"),
    };
    let user = if credential.is_empty() { "unknown" } else { credential };
    EventClass {
        uid: 3002,
        name: "Authentication",
        category: "Identity & Access Management",
        activity: 1,
        activity_name: "Logon",
        fields: vec![
            ("user", json!({ "name": cut(user, MOST_TEXT) })),
            ("service", json!({ "name": cut(exported.event(), MOST_TEXT) })),
            ("actor", actor(exported)),
            ("device", device(exported)),
            ("status_id", status_id.into()),
            ("status", status.into()),
        ],
        has_agent: false,
    }
}

fn detection(exported: &ExportedRecord<'_>) -> EventClass {
    let record = exported.record;
    let worst = record.detections.iter().max_by_key(|detected| detected.severity as u8);
    let pattern = worst.map_or("pattern", |detected| detected.pattern.as_str());
    let names: Vec<&str> =
        record.detections.iter().map(|detected| detected.pattern.as_str()).collect();
    let mut evidence = json!({ "actor": actor(exported) });
    if let Some(object) = evidence.as_object_mut() {
        if let Some(command) = exported.command_line() {
            let process = json!({ "uid": call_of(exported), "cmd_line": cut(command, MOST_TEXT) });
            object.insert("process".into(), process);
        }
        if let Some(file) = exported.file() {
            let name = file.path.text().rsplit('/').find(|part| !part.is_empty()).unwrap_or("/");
            let path = cut(file.path.text(), MOST_TEXT);
            object.insert("file".into(), json!({ "name": name, "path": path, "type_id": 0 }));
        }
    }
    let confidence = worst.map_or(0, |detected| detected.confidence);
    let (confidence_id, confidence_name) = match confidence {
        0..400 => (1, "Low"),
        400..750 => (2, "Medium"),
        _ => (3, "High"),
    };
    let fields = vec![
        (
            "finding_info",
            json!({
                "uid": exported.uid_of(record.sequence),
                "title": format!("Detected: {}", names.join(", ")),
                "types": names,
                // A pattern of behaviour over the steps of a session.
                "analytic": { "name": pattern, "type_id": 2, "type": "Behavioral" },
            }),
        ),
        ("evidences", json!([evidence])),
        ("device", device(exported)),
        ("confidence_id", confidence_id.into()),
        ("confidence", confidence_name.into()),
        ("confidence_score", (confidence / 10).into()),
        ("status_id", 1.into()),
        ("status", "New".into()),
    ];
    EventClass {
        uid: 2004,
        name: "Detection Finding",
        category: "Findings",
        activity: 1,
        activity_name: "Create",
        fields,
        has_agent: false,
    }
}

fn incident(exported: &ExportedRecord<'_>) -> EventClass {
    let record = exported.record;
    let issue = exported.document.intervention.get().map_or("", |found| found.issue.text());
    let title = if issue.is_empty() {
        "Session stopped".to_owned()
    } else {
        format!("Session stopped: {issue}")
    };
    let fields = vec![
        ("finding_info_list", json!([{ "uid": exported.uid_of(record.sequence), "title": title }])),
        // Nobody has taken it yet.
        ("assignee_group", json!({ "name": "unassigned" })),
        ("device", device(exported)),
        ("status_id", 1.into()),
        ("status", "New".into()),
    ];
    EventClass {
        uid: 2005,
        name: "Incident Finding",
        category: "Findings",
        activity: 1,
        activity_name: "Create",
        fields,
        has_agent: false,
    }
}

/// Returns who acted: the client, with the session that it is in.
fn actor(exported: &ExportedRecord<'_>) -> Value {
    let client = exported.client();
    let client = if client.is_empty() { "portcullis" } else { client };
    let session = &exported.record.session;
    match session.is_empty() {
        true => json!({ "app_name": client }),
        false => json!({ "app_name": client, "session": { "uid": session } }),
    }
}

fn agent(exported: &ExportedRecord<'_>) -> (&'static str, Value) {
    let record = exported.record;
    let mut agent = json!({ "type_id": 0 });
    if let Some(object) = agent.as_object_mut() {
        if !exported.client().is_empty() {
            object.insert("name".into(), exported.client().into());
        }
        let name = record.agent.as_deref().unwrap_or_else(|| exported.client());
        object.insert("uid".into(), if name.is_empty() { "agent" } else { name }.into());
        if !record.session.is_empty() {
            object.insert("instance_uid".into(), record.session.as_str().into());
        }
    }
    ("ai_agent", agent)
}

fn device(exported: &ExportedRecord<'_>) -> Value {
    json!({ "name": host_of(exported), "type_id": 0 })
}

fn host_of<'a>(exported: &ExportedRecord<'a>) -> &'a str {
    match exported.host() {
        "" => exported.journal(),
        host => host,
    }
}

/// Returns the client's id of the call, or the record's.
fn call_of<'a>(exported: &'a ExportedRecord<'_>) -> &'a str {
    match exported.document.call.text() {
        "" => &exported.record.id,
        call => call,
    }
}

/// Returns the end of the action, where it is known.
fn status(exported: &ExportedRecord<'_>) -> Vec<(&'static str, Value)> {
    let outcome = exported.document.outcome.get().map(|outcome| outcome.status.text());
    let (id, name) = match outcome {
        Some("ok") => (1, "Success"),
        Some("failed" | "refused") => (2, "Failure"),
        _ => return Vec::new(),
    };
    vec![("status_id", id.into()), ("status", name.into())]
}

/// Returns true for a text that receivers accept as a URL.
fn is_url(text: &str) -> bool {
    text.split_once("://").is_some_and(|(scheme, rest)| {
        let is_scheme = |letter: u8| letter.is_ascii_alphanumeric() || b"+-.".contains(&letter);
        !rest.is_empty() && !scheme.is_empty() && scheme.bytes().all(is_scheme)
    })
}
