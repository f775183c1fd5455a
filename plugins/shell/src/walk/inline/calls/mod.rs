//! The calls that matter, by name, and their effects.

mod node;
mod python;

/// The effect of a call. A number is the position of the argument that it concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    Read(usize),
    Write(usize),
    /// Something of it is changed, but not its text: its owner, its dates.
    Mark(usize),
    /// The permissions of the first become those in the second argument.
    Permit,
    Create(usize),
    Delete(usize),
    DeleteTree(usize),
    /// From the first to the second.
    Move,
    Copy,
    CopyTree,
    /// A link to the first at the second.
    Link,
    /// The mode in the second argument decides.
    Open,
    /// The flags in the second argument decide.
    OpenFlags,
    /// The object itself is the path.
    OwnRead,
    OwnWrite,
    OwnCreate,
    OwnDelete,
    OwnMove,
    OwnOpen,
    OwnLink,
    OwnPermit,
    /// A shell's text.
    Shell(usize),
    /// A shell's text on another machine.
    RemoteShell(usize),
    /// A program: a text or a list of words.
    Program(usize),
    /// A program, and a list of its arguments.
    ProgramAndList(usize),
    /// A program, and each word in an argument of its own; the first is the program's name again.
    Words(usize),
    /// A program, and each word in an argument of its own.
    PlainWords(usize),
    /// Input for a program that was started.
    Input,
    /// A process of its own for the same code.
    Fork,
    Chdir(usize),
    /// A connection to a host, a URL, or a pair of host and port.
    Connect(usize),
    /// A connection, if the argument is a pair of host and port.
    ConnectPair,
    /// A request: the method is in the options.
    Request(usize),
    /// A request whose first argument is the method.
    MethodRequest,
    Get(usize),
    Post(usize),
    Erase(usize),
    /// A request over the connection that the object is.
    OwnRequest,
    /// Data over the connection that the object is.
    OwnSend,
    /// Serves a folder.
    Serve,
    Statement(usize),
    Environment,
    /// Runs a text as code.
    Dynamic(usize),
    /// Runs a file as code.
    RunFile(usize),
    /// Code of a library that is not text.
    Native,
    Stop(usize),
    Print,
    /// It has none, although its name ends as one of a call that has.
    Nothing,
    System(&'static str),
    Privilege,
    RemoteChange(&'static str),
    RemoteDelete(&'static str),
    Publish,
    Secret(&'static str),
    /// A call of a cloud's service: its name says what it does there.
    Cloud,
    /// Everything in a database or an index is destroyed.
    Drops,
    /// Every row is deleted.
    Empties,
    /// The process that the object is.
    OwnStop,
}

/// Prefixes of names that stand for others.
const SAME: &[(&str, &str)] = &[
    ("posix.", "os."),
    ("nt.", "os."),
    ("requests.Session().", "requests."),
    ("requests.session().", "requests."),
    ("requests.sessions.Session().", "requests."),
    ("requests.api.", "requests."),
    ("httpx.Client().", "requests."),
    ("httpx.AsyncClient().", "requests."),
    ("httpx.", "requests."),
    ("aiohttp.ClientSession().", "requests."),
    ("urllib3.PoolManager().", "urllib3."),
    ("axios.default.", "axios."),
    ("axios.create().", "axios."),
    ("axios.Axios().", "axios."),
    ("fs.promises.", "fs."),
    ("shelljs.", "shell."),
    ("io.open", "open"),
    ("io.FileIO", "open"),
    ("codecs.open", "open"),
    ("aiofiles.open", "open"),
    ("gzip.open", "open"),
    ("bz2.open", "open"),
    ("lzma.open", "open"),
    ("anyio.Path()", "pathlib.Path()"),
    ("aiofiles.os.", "os."),
    ("process.constructor.", "process."),
];

/// Returns the effect of a call, if it has one.
pub(super) fn find(name: &str, python: bool) -> Option<Act> {
    let whole = SAME
        .iter()
        .find_map(|(from, to)| name.strip_prefix(from).map(|rest| format!("{to}{rest}")))
        .unwrap_or_else(|| name.to_owned());
    let table = if python { python::CALLS } else { node::CALLS };
    let short = whole.strip_suffix("Sync").unwrap_or(&whole);
    let exact = |name: &str| table.iter().find(|(known, _)| *known == name).map(|(_, act)| *act);
    exact(&whole).or_else(|| exact(short).filter(|_| !python)).or_else(|| {
        let method = whole.rsplit('.').next().filter(|method| *method != whole)?;
        let ending = format!(".{}", method.strip_suffix("Sync").unwrap_or(method));
        let own = exact(&ending);
        let of_cloud = || cloud(&whole, method);
        // The service's verb comes first: `.terminate` and the like are methods of other objects as
        // well.
        if ["boto3.", "aws-sdk.", "@aws-sdk/"].iter().any(|client| whole.starts_with(client)) {
            return of_cloud().or(own);
        }
        by_ending(&whole).or(own).or_else(of_cloud)
    })
}

/// Calls of data stores whose names vary at the beginning.
const ENDINGS: &[(&str, Act)] = &[
    (".objects.all().delete", Act::Empties),
    (".objects.filter().delete", Act::Empties),
    (".objects.exclude().delete", Act::Empties),
    (".query().delete", Act::Empties),
    (".indices.delete", Act::Drops),
    (".metadata.drop_all", Act::Drops),
];

/// Returns the effect of a call by the end of its name.
fn by_ending(whole: &str) -> Option<Act> {
    ENDINGS.iter().find(|(end, _)| whole.ends_with(end)).map(|(_, act)| *act)
}

/// Cloud clients: the verb in the method's name decides.
fn cloud(whole: &str, method: &str) -> Option<Act> {
    const CLIENTS: &[&str] =
        &["boto3.", "botocore.", "aioboto3.", "google.cloud.", "azure.", "aws-sdk.", "@aws-sdk/"];
    if !CLIENTS.iter().any(|client| whole.starts_with(client)) {
        return None;
    }
    if whole.starts_with("google.cloud.") || whole.starts_with("azure.") {
        let verb = method.trim_start_matches("begin_").split('_').next().unwrap_or(method);
        return match verb {
            "access" if method.contains("secret") => Some(Act::Secret("cloud")),
            "get" if method == "get_secret" || method == "list_keys" => Some(Act::Secret("cloud")),
            "delete" | "terminate" | "deregister" | "purge" | "destroy" => {
                Some(Act::RemoteDelete("cloud"))
            }
            "put" | "create" | "update" | "modify" | "attach" | "detach" | "stop" | "start"
            | "upload" | "run" | "invoke" | "authorize" | "set" => Some(Act::RemoteChange("cloud")),
            _ => None,
        };
    }
    Some(Act::Cloud)
}
