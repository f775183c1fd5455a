//! The gate of the gateway: the reviewer that hooks use, and the agreed tools of the server.

use crate::commands::approvals::OwnLoop;
use crate::commands::maintain;
use crate::error::{Context, Error, Result};
use portcullis_agents::mcp_servers::HOOKED_CALLS;
use portcullis_config::Config;
use portcullis_config::clock::now_ms;
use portcullis_config::hidden_tools::WatchedHiddenTools;
use portcullis_config::paths::Paths;
use portcullis_core::event::{Call, CallResult, Disposition, Event, EventKind, Reply};
use portcullis_core::fault::{Fault, OnFault};
use portcullis_core::pipeline::fault_reply;
use portcullis_core::record::{Record, RecordKind};
use portcullis_core::text::{cut_text, one_line};
use portcullis_mcp::{
    CallKind, CallRuling, Gate, GatewayCall, HoldReason, ListedTool, PinError, PinStore,
    ResultRuling, ServerIdentity, ToolDefinition, ToolResult, ToolState, tool_name,
};
use portcullis_review::approvals::AnswerPort;
use portcullis_review::hook::{ReviewFailure, observes, review_without_hook};
use portcullis_review::joined::is_reviewed;
use portcullis_review::reviewer::Reviewer;
use portcullis_review::stored_records::write_record;
use portcullis_review::{installed, tool_texts};
use portcullis_store::{Durability, Home, Store};
use std::collections::HashSet;
use std::io::Write;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// The client's name in records.
const CLIENT: &str = "mcp";
/// The most different records about agreed tools of one gateway.
const MOST_RECORDED: usize = 1000;
/// The most bytes of a text for the agent.
const MOST_TEXT: usize = 8 * 1024;

/// The wait of a gateway for a person's answer.
struct GatewayPort<'a> {
    is_given_up: &'a dyn Fn() -> bool,
}

impl AnswerPort for GatewayPort<'_> {
    fn latest_end(&self) -> Option<Instant> {
        OwnLoop.latest_end()
    }

    fn begin_wait(&self, until: Instant, has_messages: bool) {
        OwnLoop.begin_wait(until, has_messages);
    }

    fn end_wait(&self) {}

    fn is_abandoned(&self) -> bool {
        (self.is_given_up)()
    }
}

/// Reviews the calls of one gateway, which is one session.
pub struct ReviewGate {
    server: String,
    identity: ServerIdentity,
    session: String,
    cwd: String,
    places: Paths,
    home: Home,
    hidden: WatchedHiddenTools,
    /// The ids of calls that passed on a hook's review: each counts once.
    joined: Mutex<HashSet<String>>,
    /// The texts that were recorded.
    recorded: Mutex<HashSet<String>>,
}

impl ReviewGate {
    /// Opens the gate of a server.
    pub fn open(server: String, identity: ServerIdentity) -> Result<Self> {
        let places = Paths::from_environment()?;
        let home = Home::open_root(&places.state)?;
        let cwd = std::env::current_dir().context("cannot determine the current folder")?;
        let mut random = [0; 8];
        getrandom::fill(&mut random)
            .map_err(|error| Error::io(format!("the system gives no random bytes: {error}")))?;
        let session = format!("mcp-{:016x}", u64::from_le_bytes(random));
        Ok(Self {
            server,
            identity,
            session,
            cwd: cwd.display().to_string(),
            places,
            home,
            hidden: WatchedHiddenTools::default(),
            joined: Mutex::default(),
            recorded: Mutex::default(),
        })
    }

    fn event(&self, name: &str, kind: EventKind) -> Event {
        Event {
            client: CLIENT.into(),
            session: self.session.clone(),
            agent: None,
            cwd: self.cwd.clone(),
            permission_mode: None,
            name: name.into(),
            kind,
        }
    }

    fn call(&self, call: &GatewayCall) -> Call {
        Call {
            id: Some(format!("{}-{}", self.session, call.number)),
            tool: tool_name(&self.server, &call.name),
            input: call.reviewed_input(),
        }
    }

    /// Returns true if a hook of the client has reviewed this call.
    fn is_reviewed_by_hook(&self, call: &GatewayCall, reviewed: &Call) -> bool {
        let mut ids = HOOKED_CALLS.iter().filter_map(|name| call.meta.get(*name)?.as_str());
        let Some(id) = ids.next() else { return false };
        let hooked = Call { id: Some(id.to_owned()), ..reviewed.clone() };
        let known = Store::open_existing(&self.home, Durability::Process)
            .and_then(|store| is_reviewed(&store, &hooked, now_ms()));
        // Without a journal that can be read, the review here fails with the reason.
        known.unwrap_or(false)
            && self.joined.lock().unwrap_or_else(PoisonError::into_inner).insert(id.to_owned())
    }

    fn review(
        &self,
        event: &Event,
        is_given_up: &dyn Fn() -> bool,
    ) -> std::result::Result<Reply, Fault> {
        let port = GatewayPort { is_given_up };
        let answered = review_without_hook(event, &port).map_err(ReviewFailure::into_fault)?;
        if answered.work_is_due {
            maintain::start_beside();
        }
        answered.reply.person.iter().for_each(|text| self.report(text));
        Ok(answered.reply)
    }

    fn observes(&self) -> bool {
        observes(&self.places, now_ms())
    }

    /// Returns the pattern of the configuration that hides a tool. With a configuration that cannot
    /// be read, the review fails.
    fn find_hiding(&self, tool: &str) -> Option<String> {
        let tools = self.hidden.read(&self.places).ok()?;
        tools.find_pattern(&self.server, tool).map(str::to_owned)
    }

    /// Returns the text for the agent if a tool may not be called at all.
    fn refuse_tool(&self, tool: &str) -> Option<String> {
        let name = one_line(tool, 128);
        if let Some(pattern) = self.find_hiding(tool).filter(|_| !self.observes()) {
            self.record_pins(&format!("a call of the hidden tool `{name}` was refused"));
            let pattern = one_line(&pattern, 256);
            return Some(format!(
                "Portcullis did not run `{name}`: the configuration hides it (`mcp.hide` has `{pattern}`)."
            ));
        }
        match PinStore::new(&self.home).find_state(&self.identity, tool) {
            Ok(Some(ToolState::Held(reason))) if !self.observes() => {
                self.record_pins(&format!("a call of the held tool `{name}` was refused"));
                Some(self.held_text(tool, &reason))
            }
            Ok(_) => None,
            Err(_) if self.observes() => None,
            Err(error) => Some(unreviewed(&error.to_string())),
        }
    }

    /// Returns the text for a tool that is held.
    fn held_text(&self, tool: &str, reason: &HoldReason) -> String {
        let (tool, why, id) = (one_line(tool, 128), reason.describe(), self.identity.id());
        let fix = match reason {
            HoldReason::Unlisted | HoldReason::Name | HoldReason::Repeated => String::new(),
            _ => format!(
                " A person has to look at it: `portcullis mcp pins diff {id}`, then `portcullis mcp pins accept {id}`."
            ),
        };
        format!("Portcullis did not run `{tool}`: the tool {why}.{fix}")
    }

    /// Records something about the agreed tools, once.
    fn record_pins(&self, summary: &str) {
        let mut recorded = self.recorded.lock().unwrap_or_else(PoisonError::into_inner);
        // An agent chooses the names of the tools that it calls.
        if recorded.len() >= MOST_RECORDED || !recorded.insert(summary.to_owned()) {
            return;
        }
        let kind = RecordKind::Configuration;
        let record = Record {
            client: CLIENT.into(),
            session: self.session.clone(),
            ..Record::outside_session(kind, "mcp-pins", summary, now_ms(), &self.session)
        };
        // The tool is held even if that cannot be recorded.
        let _written = write_record(&self.home, Durability::default(), &record);
    }

    /// Loads the reviewer that reads the texts of tools.
    fn load_reader(&self) -> anyhow::Result<Reviewer> {
        let config = Config::load(&self.places, Some(&self.home))?;
        installed::load_reviewer(&self.places, &self.home, config, &[], now_ms())
    }
}

impl Gate for ReviewGate {
    fn review_call(&self, call: &GatewayCall, is_given_up: &dyn Fn() -> bool) -> CallRuling {
        if call.kind == CallKind::Tool
            && let Some(reason) = self.refuse_tool(&call.name)
        {
            return CallRuling::Refuse(reason);
        }
        let reviewed = self.call(call);
        if self.is_reviewed_by_hook(call, &reviewed) {
            return CallRuling::ForwardReviewed;
        }
        let event = self.event(call.kind.method(), EventKind::BeforeTool(reviewed));
        let reply = self.review(&event, is_given_up).unwrap_or_else(|fault| fault_reply(&fault));
        match reply.ruling {
            Disposition::None => CallRuling::Forward,
            Disposition::Rewrite(input) => CallRuling::Rewrite(input, bounded(reply.agent)),
            Disposition::Ask(reason) => CallRuling::Refuse(cut_text(
                &format!("A person has to decide about this call, so it did not run. {reason}"),
                MOST_TEXT,
            )),
            Disposition::Refuse(reason) | Disposition::Stop(reason) => {
                CallRuling::Refuse(cut_text(&reason, MOST_TEXT))
            }
        }
    }

    fn review_result(&self, call: &GatewayCall, result: &ToolResult) -> ResultRuling {
        let ended = CallResult {
            duration_ms: Some(result.duration_ms),
            shown: result.value.clone(),
            ..CallResult::from_text(result.text(), result.failed)
        };
        let name = format!("{} result", call.kind.method());
        let event = self.event(&name, EventKind::AfterTool(self.call(call), ended));
        match self.review(&event, &|| false) {
            Ok(Reply { ruling: Disposition::Stop(reason), .. }) => ResultRuling {
                withheld: Some(cut_text(&reason, MOST_TEXT)),
                ..ResultRuling::default()
            },
            Ok(reply) => ResultRuling {
                withheld: None,
                replacement: reply.result,
                notes: bounded(reply.agent),
            },
            Err(fault) if fault.policy == OnFault::Warn => ResultRuling::default(),
            Err(fault) => ResultRuling {
                withheld: Some(format!(
                    "The call ran, but its result is withheld. {}",
                    unreviewed(&fault.detail)
                )),
                ..ResultRuling::default()
            },
        }
    }

    fn review_tools(
        &self,
        tools: &[ListedTool],
        first_use: bool,
    ) -> std::result::Result<Vec<ToolState>, PinError> {
        let mut reader: Option<anyhow::Result<Reviewer>> = None;
        let mut find = |definition: &ToolDefinition| {
            let reader = reader.get_or_insert_with(|| self.load_reader());
            match reader {
                Ok(reader) => {
                    let tool = tool_name(&self.server, &definition.name);
                    let event = self.event("tools/list", EventKind::Other);
                    let texts = definition.texts();
                    tool_texts::find_instructions(reader, &event, &tool, &texts, now_ms())
                }
                Err(error) => Some(one_line(&format!("it could not be read: {error:#}"), 200)),
            }
        };
        let pins = PinStore::new(&self.home);
        let states = pins.compare_page(&self.identity, tools, first_use, now_ms(), &mut find);
        if self.observes() {
            return Ok(vec![ToolState::Agreed; tools.len()]);
        }
        let mut states = states?;
        for (tool, state) in tools.iter().zip(&mut states) {
            if self.find_hiding(&tool.name).is_some() {
                *state = ToolState::Hidden;
            }
        }
        for (tool, state) in tools.iter().zip(&states) {
            if let ToolState::Held(reason) = state {
                let (name, server) = (one_line(&tool.name, 128), one_line(&self.server, 64));
                let why = reason.describe();
                self.record_pins(&format!("the tool `{name}` of `{server}` is held: it {why}"));
            }
        }
        Ok(states)
    }

    fn is_first_use(&self) -> bool {
        // A document that cannot be read is one.
        matches!(PinStore::new(&self.home).read_server(&self.identity.id()), Ok(None))
    }

    fn report(&self, what: &str) {
        // The client may have closed it.
        let line = format!("portcullis mcp: {}\n", one_line(what, 2000));
        let _ = std::io::stderr().lock().write_all(line.as_bytes());
    }
}

fn unreviewed(problem: &str) -> String {
    cut_text(&format!("Portcullis could not review this: {problem}"), MOST_TEXT)
}

fn bounded(texts: Vec<String>) -> Vec<String> {
    if texts.is_empty() { texts } else { vec![cut_text(&texts.join("\n"), MOST_TEXT)] }
}
