//! The agents of the tests.

use rustix::process::Signal;
use serde_json::{Value, json};
use std::path::Path;

/// The act that is carried out when the agent is ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Act {
    Nothing,
    Emergency,
    KillMonitor,
    KillWatcher,
    /// Both at once, as an unconfined agent could do.
    KillBoth,
    KillAgent,
    /// The caller drops its agent.
    Leave,
    /// SIGSTOP to the watcher, then an emergency.
    HaltWatcher,
    /// A signal to the monitor.
    Signal(Signal),
}

/// One agent.
#[derive(Clone)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) shell: &'static str,
    pub(crate) script: &'static str,
    /// A command instead of the script.
    pub(crate) command: Option<&'static str>,
    pub(crate) limits: Value,
    pub(crate) input: Option<&'static str>,
    pub(crate) confinement: Option<fn(&Path) -> Value>,
    /// The caller takes no events.
    pub(crate) blind: bool,
    pub(crate) act: Act,
    pub(crate) code: u8,
    /// Further fields of the monitor's report.
    pub(crate) also: Vec<(&'static str, Value)>,
    /// Files of the agent's folder and their expected content.
    pub(crate) files: Vec<(&'static str, &'static str)>,
}

fn row(name: &str, act: Act, code: u8, script: &'static str) -> Row {
    let (limits, also, files) = (Value::Null, Vec::new(), Vec::new());
    let (shell, script) =
        script.strip_prefix("python\n").map_or(("sh", script), |script| ("python3", script));
    Row {
        name: name.to_owned(),
        shell,
        script,
        command: None,
        limits,
        input: None,
        confinement: None,
        blind: false,
        act,
        code,
        also,
        files,
    }
}

impl Row {
    fn says(mut self, key: &'static str, value: Value) -> Self {
        self.also.push((key, value));
        self
    }

    fn holds(mut self, file: &'static str, text: &'static str) -> Self {
        self.files.push((file, text));
        self
    }

    fn command(self, command: &'static str) -> Self {
        Self { command: Some(command), ..self }
    }

    fn input(self, input: &'static str) -> Self {
        Self { input: Some(input), ..self }
    }

    fn limit(self, limits: Value) -> Self {
        Self { limits, ..self }
    }

    fn confined(self, confinement: fn(&Path) -> Value) -> Self {
        Self { confinement: Some(confinement), ..self }
    }

    fn blind(self) -> Self {
        Self { blind: true, ..self }
    }
}

pub(crate) fn all() -> Vec<Row> {
    [ends(), stops(), limits(), confined()].concat()
}

/// Returns the agents that end by themselves.
fn ends() -> Vec<Row> {
    vec![
        row("ends well", Act::Nothing, 0, "echo hello; echo oops >&2")
            .says("stopped", json!(false))
            .holds("output", "hello")
            .holds("errors", "oops"),
        row("fails", Act::Nothing, 10, "exit 3").says("exit", json!("exit code 3")),
        row("kills itself", Act::Nothing, 10, "kill -9 $$").says("exit", json!("signal 9")),
        row("is killed by somebody", Act::KillAgent, 10, "echo $PPID $$ > r; sleep 999 & mv r ready; wait").says("exit", json!("signal 9")),
        row("is not a program", Act::Nothing, 1, "").command("/nowhere/agent"),
        row("is not executable", Act::Nothing, 1, "").command("./script"),
        row("reads what it is given", Act::Nothing, 0, "cat > got").input("hello\n").holds("got", "hello"),
        row("reads nothing", Act::Nothing, 0, "cat > got").holds("got", ""),
        // The fourth is the folder that is being listed.
        row("looks for descriptors of others", Act::Nothing, 0, "ls /proc/self/fd | tr '\\n' ' '").holds("output", "0 1 2 3"),
        row("says that it failed", Act::Nothing, 10, r#"echo '{"type":"result","is_error":true,"terminal_reason":"api_error"}'"#),
        row("was ended by a hook", Act::Nothing, 12, r#"echo '{"type":"result","is_error":false,"terminal_reason":"hook_stopped"}'"#),
        row("ends while its child lives", Act::Nothing, 0, "sleep 999 & exit 0").says("stopped", json!(true)),
        row("ends while deaf children live", Act::Nothing, 0, "for n in 1 2 3; do (trap '' TERM HUP; while :; do sleep 9; done) & done; sleep 1").says("stopped", json!(true)),
        row("leaves a daemon behind", Act::Nothing, 0, "python\nimport os, signal, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork(): os._exit(0)\n    signal.signal(signal.SIGTERM, signal.SIG_IGN)\n    os.closerange(0, 99)\n    time.sleep(999)\nos.wait()\n")
            .says("stopped", json!(true))
            .says("killed", json!(1)),
    ]
}

/// Returns the agents that are stopped, for any reason.
fn stops() -> Vec<Row> {
    const DEAF: &str = "trap '' TERM INT HUP QUIT USR1 USR2\nfor n in 1 2 3; do (while :; do sleep 9; done) & done\nsetsid sh -c 'while :; do sleep 9; done' &\n(setsid sh -c '(sleep 999 > /dev/null 2>&1 < /dev/null &)' &)\nsleep .2\necho $PPID $$ > r; mv r ready\nwhile :; do sleep 9; done";
    const FLOOD: &str = "trap '' PIPE\n(yes flood; yes flood) &\n(yes flood >&2) &\nsleep .3\necho $PPID $$ > r; mv r ready\nwhile :; do yes flood; done";
    let mut rows: Vec<Row> = vec![
        row("obeys", Act::Emergency, 12, "echo $PPID $$ > r; mv r ready; sleep 999").says("killed", json!(0)),
        row("has many children", Act::Emergency, 12, "n=0; while [ $n -lt 60 ]; do sleep 999 & n=$((n+1)); done; echo $PPID $$ > r; mv r ready; wait"),
        row("opens sessions", Act::Emergency, 12, "setsid sh -c 'setsid sleep 999' & setsid sleep 999 & echo $PPID $$ > r; mv r ready; wait"),
        row("halts itself", Act::Emergency, 12, "echo $PPID $$ > r; mv r ready; kill -STOP $$"),
        row("closes its streams", Act::Emergency, 12, "exec < /dev/null > /dev/null 2>&1; echo $PPID $$ > r; mv r ready; sleep 999"),
        row("never stands still", Act::Emergency, 12, "python\nimport os, signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nopen('r', 'w').write('%d %d\\n' % (os.getppid(), os.getpid()))\nos.rename('r', 'ready')\nwhile True:\n    if os.fork(): os._exit(0)\n"),
        row("breeds", Act::Emergency, 12, "python\nimport os, signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\nopen('r', 'w').write('%d %d\\n' % (os.getppid(), os.getpid()))\nos.rename('r', 'ready')\nfor n in range(300):\n    if os.fork() == 0:\n        time.sleep(.02)\n        if os.fork(): os._exit(0)\n        time.sleep(.02)\n        if os.fork() == 0: time.sleep(999)\n        time.sleep(999)\n    time.sleep(.002)\ntime.sleep(999)\n"),
        row("is its own reaper", Act::Emergency, 12, "python\nimport ctypes, os, signal, time\nctypes.CDLL(None).prctl(36, 1)\nif os.fork() == 0:\n    if os.fork(): os._exit(0)\n    os.setsid()\n    signal.signal(signal.SIGTERM, signal.SIG_IGN)\n    time.sleep(999)\nos.wait()\nopen('r', 'w').write('%d %d\\n' % (os.getppid(), os.getpid()))\nos.rename('r', 'ready')\ntime.sleep(999)\n"),
        row("fools the list of processes", Act::Emergency, 12, "python\nimport ctypes, os, signal, time\nctypes.CDLL(None).prctl(15, b') S 1 1 (', 0, 0, 0)\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nopen('r', 'w').write('%d %d\\n' % (os.getppid(), os.getpid()))\nos.rename('r', 'ready')\ntime.sleep(999)\n").says("killed", json!(1)),
    ];
    for (name, act, code) in [
        ("in an emergency", Act::Emergency, 12),
        ("when its monitor is killed", Act::KillMonitor, 0),
        ("when its caller forgets it", Act::Leave, 0),
        ("when its watcher is killed", Act::KillWatcher, 13),
        ("when its watcher is halted", Act::HaltWatcher, 12),
        ("on ctrl c", Act::Signal(Signal::INT), 130),
        ("on a polite kill", Act::Signal(Signal::TERM), 130),
        ("when the terminal closes", Act::Signal(Signal::HUP), 130),
    ] {
        let deaf = if act == Act::HaltWatcher { DEAF_ALMOST } else { DEAF };
        let flood = if act == Act::HaltWatcher { FLOOD_ALMOST } else { FLOOD };
        rows.push(row(&format!("is deaf {name}"), act, code, deaf));
        rows.push(row(&format!("floods {name}"), act, code, flood));
    }
    rows.push(row(
        "is one process whose watcher and monitor are killed",
        Act::KillBoth,
        0,
        "trap '' TERM HUP; echo $PPID $$ > r; mv r ready; exec sleep 999",
    ));
    rows.push(row("floods while nobody looks", Act::Emergency, 12, FLOOD).blind());
    rows
}

const DEAF_ALMOST: &str = "trap '' TERM INT HUP QUIT\n(while :; do sleep 9; done) &\nsetsid sh -c 'while :; do sleep 9; done' &\n(setsid sh -c '(sleep 999 > /dev/null 2>&1 < /dev/null &)' &)\nsleep .2\necho $PPID $$ > r; mv r almost\nwhile :; do sleep 9; done";
const FLOOD_ALMOST: &str = "trap '' PIPE\n(yes flood >&2) &\nsleep .3\necho $PPID $$ > r; mv r almost\nwhile :; do yes flood; done";

/// Returns the agents that use too much.
fn limits() -> Vec<Row> {
    const HOG: &str = "python\nimport time\nheld = bytearray(300 << 20)\nfor at in range(0, len(held), 4096): held[at] = 1\ntime.sleep(999)\n";
    const SHARED: &str = "python\nimport os, time\nheld = b'x' * (60 << 20)\nfor n in range(6):\n    if os.fork() == 0: time.sleep(2); os._exit(0)\nfor n in range(6): os.wait()\n";
    vec![
        row("takes too long", Act::Nothing, 11, "trap '' TERM; while :; do sleep 9; done").limit(json!({"time": 1000})).says("warned", json!(1)).says("warnings", json!(["time"])),
        row("takes too long while nobody looks", Act::Nothing, 11, "yes").limit(json!({"time": 1000})).blind(),
        row("is in time", Act::Nothing, 0, "echo done").limit(json!({"time": 60000})).says("warnings", json!([])),
        row("takes too much memory", Act::Nothing, 11, HOG).limit(json!({"memory": 100 << 20})).says("warnings", json!(["memory"])),
        row("shares its memory with its children", Act::Nothing, 0, SHARED).limit(json!({"memory": 300 << 20})).says("warnings", json!([])),
        row("starts too many", Act::Nothing, 11, "while :; do sleep 99 & sleep .01; done").limit(json!({"processes": 20})).says("warnings", json!(["processes"])),
        row("floods over its limit", Act::Nothing, 11, "yes & yes >&2").limit(json!({"output": 5_000_000})).says("warnings", json!(["output"])),
        row("writes an endless line", Act::Nothing, 11, "tr '\\0' x < /dev/zero").limit(json!({"output": 64 << 20})),
        row("writes a line of 2 MiB", Act::Nothing, 0, "head -c 2097152 /dev/zero; echo; echo end").says("long", json!(1)).says("output", json!(2_097_157)),
        row("nests its json too deep", Act::Nothing, 0, "head -c 500000 /dev/zero | tr '\\0' '['; echo").says("output", json!(500_001)),
        row("spends too many tokens", Act::Nothing, 11, "n=0; while :; do n=$((n+1)); echo '{\"type\":\"assistant\",\"message\":{\"id\":\"m'$n'\",\"usage\":{\"input_tokens\":10,\"output_tokens\":10}}}'; sleep .05; done")
            .limit(json!({"tokens": 100})).says("warnings", json!(["tokens"])),
        row("tells a message twice", Act::Nothing, 0, "for n in 1 2 3; do echo '{\"type\":\"assistant\",\"message\":{\"id\":\"m\",\"usage\":{\"input_tokens\":10,\"output_tokens\":'$n'}}}'; done")
            .says("tokens", json!(13)),
    ]
}

/// Returns the agents that are confined. The rows apply if the kernel has Landlock 6;
/// tests/stream.rs covers the report of other kernels.
fn confined() -> Vec<Row> {
    if !portcullis_run::Kernel::ask_kernel().signals {
        return vec![];
    }
    let within = |folder: &Path| json!({"write": [folder.join("in")], "connect": [1], "signals": true, "required": true});
    vec![
        row("writes elsewhere", Act::Nothing, 0, "echo a > in/a && echo inside; echo b > b || echo refused; : > /dev/null && echo null; mv in/a in/c && rm in/c && echo moved; cat /etc/passwd > /dev/null && echo read")
            .confined(within)
            .holds("output", "inside\nrefused\nnull\nmoved\nread"),
        row("kills its watcher", Act::Nothing, 0, "kill -9 $PPID || echo refused; kill -STOP $PPID || echo refused; sleep 99 & kill $! && echo own").confined(within).holds("output", "refused\nrefused\nown"),
        row("gains privileges", Act::Nothing, 0, "grep NoNewPrivs /proc/self/status | tr '\\t' ' '").confined(within).holds("output", "NoNewPrivs: 1"),
        row("connects elsewhere", Act::Nothing, 0, "python\nimport socket\nlistening = socket.socket()\nlistening.bind(('127.0.0.1', 0))\nlistening.listen()\ntry:\n    socket.create_connection(listening.getsockname())\nexcept PermissionError:\n    print('refused')\n")
            .confined(within)
            .holds("output", "refused"),
        row("is deaf and confined", Act::Emergency, 12, "trap '' TERM; setsid sleep 999 & echo $PPID $$ > r; mv r ready; while :; do sleep 9; done")
            .confined(|folder| json!({"write": [folder], "signals": true})),
    ]
}
