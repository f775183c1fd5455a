//! HTTP clients: the data of this machine that a request carries, and the destructive statements in
//! it. The catalogue handles the effect of its method, body and address at the other end.

use super::environment::UNKNOWN;
use super::expand::Field;
use super::feed::{Feed, Source};
use super::simple::Call;
use super::{Setting, Walker, sql};
use crate::catalogue::{Flag, Item, Plan, VALUED, options};
use crate::places;
use crate::types::EffectKind;

/// A request, as the words of a call describe it.
#[derive(Default)]
pub(super) struct Request {
    /// The text of the body, if it is written out.
    pub bodies: Vec<String>,
    /// Its destinations, as written.
    pub addresses: Vec<String>,
}

impl Request {
    /// Returns the effect of the statements in its bodies and addresses.
    fn statements(&self) -> sql::Change {
        let parameters = self
            .addresses
            .iter()
            .filter_map(|address| address.split_once('?'))
            .flat_map(|(_, query)| query.split('&'));
        let statements = self.bodies.iter().map(String::as_str).chain(parameters);
        statements.map(statement).map(|text| sql::change(&text)).max().unwrap_or(sql::Change::None)
    }
}

/// Returns a database's statement in a form field or a query: `q=DROP+DATABASE+x`.
fn statement(text: &str) -> String {
    let text = ["q=", "query=", "sql=", "stmt="]
        .iter()
        .find_map(|start| text.strip_prefix(start))
        .unwrap_or(text);
    text.replace(['+'], " ").replace("%20", " ")
}

impl Walker<'_> {
    /// Notes the destruction by the statements of a request. The catalogue has handled its method
    /// and its address.
    fn statements_in(&mut self, request: &Request, command: Option<u32>, setting: &Setting) {
        let host =
            request.addresses.iter().find_map(|address| places::host(address)).unwrap_or_default();
        if let Some(form) = request.statements().form() {
            self.out.form(form, command);
            self.plain(EffectKind::RemoteDelete, &host, !host.is_empty(), command, setting);
        }
    }

    /// Notes the effects of `curl` and `wget`.
    pub(super) fn curl(
        &mut self,
        rest: &[Field],
        plan: &Plan,
        command: Option<u32>,
        setting: &Setting,
    ) {
        let mut request = Request { addresses: addresses(rest, plan), ..Request::default() };
        let words: Vec<&str> = rest.iter().map(|field| field.text.as_str()).collect();
        for Flag { name, value, at, word } in options(&words, VALUED) {
            let Some(field) = rest.get(at.unwrap_or(word)) else { continue };
            match name {
                "--url" => request.addresses.push(value.to_owned()),
                "-T" | "--upload-file" | "--post-file" | "--body-file" => {
                    self.body_file(value, field, command, setting)
                }
                _ if matches!(name, "-d" | "-F" | "--json" | "--post-data" | "--body-data")
                    || name.starts_with("--data")
                    || name.starts_with("--form") =>
                {
                    request.bodies.push(value.to_owned());
                    self.body(name, value, field, command, setting);
                }
                _ => {}
            }
        }
        self.statements_in(&request, command, setting);
        self.shows_secret(&words, &request, command);
        self.opens_container(&words, &request, command, setting);
    }

    /// Notes a secret in a header, or a password, that goes to another machine of which nothing is
    /// checked.
    fn shows_secret(&mut self, words: &[&str], request: &Request, command: Option<u32>) {
        const HEADERS: &[&str] = &["authorization:", "cookie:", "private-token:", "x-api-key:"];
        let header = |word: &&str| {
            let low = word.trim_start_matches("-H").to_ascii_lowercase();
            HEADERS.iter().any(|header| low.starts_with(header))
        };
        let shows =
            words.iter().any(header) || words.iter().any(|word| matches!(*word, "-u" | "--user"));
        let unchecked = words.iter().any(|word| {
            let short = word.starts_with('-') && !word.starts_with("--") && word.contains('k');
            matches!(*word, "--insecure" | "--no-check-certificate") || short && word.len() < 8
        });
        let far = request.addresses.iter().filter_map(|address| places::host(address));
        let far = far.into_iter().any(|host| host.contains('.') && !places::is_loopback(&host));
        if shows && unchecked && far {
            self.out.form("unchecked-secret", command);
        }
    }

    /// Notes a container that a request to the engine's socket opens the machine to.
    fn opens_container(
        &mut self,
        words: &[&str],
        request: &Request,
        command: Option<u32>,
        setting: &Setting,
    ) {
        const SOCKETS: &[&str] = &["docker.sock", "podman.sock", "containerd.sock"];
        const OPENS: &[&str] = &[
            "\"/:/",
            "\"Privileged\":true",
            "\"PidMode\":\"host\"",
            "\"Source\":\"/\"",
            "docker.sock:",
        ];
        let asks = words.iter().any(|word| SOCKETS.iter().any(|socket| word.ends_with(socket)));
        let plain = |body: &String| body.split_whitespace().collect::<String>();
        let opens = |body: &String| OPENS.iter().any(|sign| plain(body).contains(sign));
        if asks && request.bodies.iter().any(opens) {
            self.out.form("container-escape", command);
            self.plain(EffectKind::Privilege, "/", true, command, setting);
        }
    }

    /// Follows a file of settings of curl: each line is a flag with its value.
    pub(super) fn curl_settings(
        &mut self,
        name: &str,
        rest: &[Field],
        call: &Call,
        command: Option<u32>,
        setting: &Setting,
    ) {
        let words: Vec<&str> = rest.iter().map(|field| field.text.as_str()).collect();
        let flags = options(&words, VALUED);
        let files: Vec<(String, Field)> = flags
            .iter()
            .filter(|flag| matches!(flag.name, "-K" | "--config") && name.starts_with("curl"))
            .filter_map(|flag| Some((flag.value.to_owned(), rest.get(flag.word)?.clone())))
            .collect();
        for (file, field) in files.into_iter().take(4) {
            let (path, _) = places::resolve(&file, &self.env.folder);
            let piped = matches!(file.as_str(), "-" | "/dev/stdin");
            let text = if piped {
                call.input.text.clone()
            } else {
                self.open_script(&path, false, command, setting)
            };
            let Some(text) = text else {
                if piped || !self.is_known(&path) {
                    self.out.gap("a request that is known only when it runs");
                }
                continue;
            };
            let mut fields = vec![Field::plain("curl", field.span)];
            for line in text.lines().map(str::trim).take(256) {
                fields.extend(setting_of(line).into_iter().map(|word| Field {
                    known: !word.contains(UNKNOWN),
                    ..Field::plain(&word, field.span)
                }));
            }
            // The other flags of the call count for these requests, too.
            let others = rest.iter().filter(|word| word.text != field.text && word.text != file);
            fields.extend(others.cloned());
            let inner = Call { end: call.end, ..Call::default() };
            let quiet = Setting { input: Feed::default(), ..setting.clone() };
            self.run(&fields, &inner, &quiet);
        }
    }

    fn body(
        &mut self,
        flag: &str,
        value: &str,
        field: &Field,
        command: Option<u32>,
        setting: &Setting,
    ) {
        let file = match flag {
            "--data-raw" | "--form-string" | "--post-data" | "--body-data" => None,
            "-F" | "--form" | "--data-urlencode" => {
                value.split_once(['@', '<']).map(|(_, file)| file.split(';').next().unwrap_or(file))
            }
            _ => value.strip_prefix('@'),
        };
        if let Some(file) = file {
            self.body_file(file, field, command, setting);
        }
        if field.source.trust == super::feed::Trust::Environment {
            self.plain(EffectKind::SecretRead, "environment", false, command, setting);
        }
        self.sends_variable(field, command, setting);
    }

    fn body_file(&mut self, file: &str, field: &Field, command: Option<u32>, setting: &Setting) {
        self.file(
            EffectKind::FileRead,
            &Field { text: file.to_owned(), ..field.clone() },
            false,
            command,
            setting,
        );
    }

    /// Notes the effects of HTTPie and clients with the same syntax:
    /// `METHOD URL name=value name@file`.
    pub(super) fn httpie(
        &mut self,
        rest: &[Field],
        plan: &Plan,
        command: Option<u32>,
        setting: &Setting,
    ) {
        let mut request = Request::default();
        let unverified = rest.iter().enumerate().any(|(at, field)| {
            let next = rest.get(at + 1).map_or("", |next| next.text.as_str());
            let value = field.text.strip_prefix("--verify=");
            let value = value.or((field.text == "--verify").then_some(next)).unwrap_or("yes");
            matches!(value.to_ascii_lowercase().as_str(), "no" | "false")
        });
        let own = plan.operands.iter().filter_map(|at| rest.get(*at)).any(|field| {
            // `:3000/x` is short for an address of this machine.
            field.text.starts_with(':')
                || places::host(&field.text)
                    .is_some_and(|host| super::safeguards::is_own_host(&host))
        });
        if unverified && !own {
            self.out.form("skip-tls", command);
        }
        for field in plan.operands.iter().filter_map(|at| rest.get(*at)) {
            let text = field.text.as_str();
            let is_method = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_uppercase());
            if request.addresses.is_empty() {
                request.addresses.extend((!is_method).then(|| text.to_owned()));
            } else if let Some((name, value)) = item(text) {
                self.sends_variable(field, command, setting);
                if name.ends_with('@') {
                    self.body_file(value, field, command, setting);
                }
                request.bodies.push(value.to_owned());
            }
        }
        self.statements_in(&request, command, setting);
    }
}

/// Returns the plan of a request whose whole body is text of the command line itself
/// (`-d @- <<EOF`): it changes something at the other end, as a body among the words does, and
/// sends no data of the machine. None for all others.
pub(super) fn in_plain_sight(
    name: &str,
    rest: &[Field],
    plan: &Plan,
    input: &Feed,
) -> Option<Plan> {
    let text = input.text.as_ref().filter(|_| matches!(name, "curl" | "curlie"))?;
    let seen = !text.contains(UNKNOWN) && input.source == Source::LOCAL;
    let (piped, files): (Vec<&str>, Vec<&str>) = rest
        .iter()
        .map(|field| field.text.as_str())
        .filter(|word| word.contains('@'))
        .partition(|word| word.ends_with("@-"));
    let words: Vec<&str> = rest.iter().map(|field| field.text.as_str()).collect();
    let uploads = options(&words, VALUED).iter().any(|flag| {
        matches!(flag.name, "-T" | "-F" | "--upload-file") || flag.name.starts_with("--form")
    });
    if !seen || piped.is_empty() || !files.is_empty() || uploads {
        return None;
    }
    let mut plan = plan.clone();
    for item in &mut plan.items {
        if let Item::Word(kind @ EffectKind::Send, _) | Item::Value(kind @ EffectKind::Send, _) =
            item
        {
            *kind = EffectKind::RemoteChange;
        }
    }
    Some(plan)
}

/// Returns the flag and the value of a line of settings of curl: `url = "x"`, `-T x`, `--next`.
fn setting_of(line: &str) -> Vec<String> {
    if line.is_empty() || line.starts_with('#') {
        return Vec::new();
    }
    let (key, value) = match line.find(['=', ':', ' ', '\t']) {
        Some(at) => (line.get(..at).unwrap_or(""), line.get(at + 1..).unwrap_or("")),
        None => (line, ""),
    };
    let value = value.trim_start_matches([' ', '\t', '=', ':']).trim_end();
    let value = match value.strip_prefix('"') {
        Some(rest) => rest.split('"').next().unwrap_or(rest),
        None => value,
    };
    let flag = if key.starts_with('-') { key.to_owned() } else { format!("--{key}") };
    let words = [flag, value.to_owned()];
    words.into_iter().filter(|word| !word.is_empty()).collect()
}

/// Returns a part of HTTPie's body, with its name and sign; not a header (`a:b`) and not a query
/// (`a==b`).
fn item(text: &str) -> Option<(&str, &str)> {
    let at = text.find(['=', '@', ':'])?;
    let (name, value) = (text.get(..=at)?, text.get(at + 1..)?);
    match name.chars().next_back() {
        Some('@') => Some((name, value)),
        Some('=') if !value.starts_with('=') => Some((name, value)),
        // `name:=JSON`
        Some(':') if value.starts_with('=') => Some((name, value.get(1..)?)),
        _ => None,
    }
}

/// Returns the addresses among the words: those that the catalogue classifies as hosts.
fn addresses(rest: &[Field], plan: &Plan) -> Vec<String> {
    let named = plan.items.iter().filter_map(|item| match item {
        Item::Word(EffectKind::Network, at) => rest.get(*at),
        _ => None,
    });
    named.map(|field| field.text.clone()).collect()
}
