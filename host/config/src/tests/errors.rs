//! Refused files, with the position and the fix of each problem.

use super::{file, user};
use crate::layers::Layer;
use crate::problem::MOST;
use crate::reading::parse_layer;
use crate::{Cache, Patterns};
use portcullis_core::fault::OnFault;
use portcullis_core::policy::{Detail, Mode, Policy};
use std::path::Path;

/// A file with all its problems: line, column, parts of the message.
type Row = (&'static str, &'static [(usize, usize, &'static str)]);

const ROWS: &[Row] = &[
    // Unknown keys.
    ("mod = \"observe\"", &[(1, 1, "`mod` is unknown; did you mean `mode`?")]),
    ("[limts]\nfile_operations = 3", &[(1, 2, "`limts` is unknown; did you mean `limits`?")]),
    (
        "[limits]\nfile_operation = 3",
        &[(2, 1, "`limits.file_operation` is unknown; did you mean `limits.file_operations`?")],
    ),
    ("file_operations = 3", &[(1, 1, "did you mean `limits.file_operations`?")]),
    ("on_fault = \"ask\"", &[(1, 1, "did you mean `plugins.NAME.on_fault`?")]),
    (
        "zzz = 1",
        &[(
            1,
            1,
            "`zzz` is unknown; known here are `approvals`, `audit`, `breaker`, `cache`, `checkpoints`",
        )],
    ),
    (
        "[limits]\nzzz = 1",
        &[(
            2,
            1,
            "`limits.zzz` is unknown; `limits` has `execution_time_seconds`, `file_operations`, `memory_mb`, `output_mb`, `processes`, `token_usage`",
        )],
    ),
    ("[mode]\nx = 1", &[(1, 1, "`mode` is a table; it must be one of")]),
    ("mode.x = 1", &[(1, 1, "`mode` is a table")]),
    ("\"mo de\" = 1", &[(1, 1, "`\"mo de\"` is unknown")]),
    ("\"a\\u202eb\\n\" = 1", &[(1, 1, "is unknown")]),
    ("[plugins.risk]\nenabeld = true", &[(2, 1, "did you mean `plugins.risk.enabled`?")]),
    (
        "[interventions.plugins]\nsoft_corection = \"x\"",
        &[(2, 1, "did you mean `interventions.plugins.soft_correction`?")],
    ),
    (
        "[interventions]\ntemplate.loop = \"x\"",
        &[(2, 1, "did you mean `interventions.templates`?")],
    ),
    (
        "[interventions.ladders]\nmine = [\"soft_correction\", \"emergency_stop\"]",
        &[(2, 1, "`interventions.ladders.mine` is not a ladder; write four answers")],
    ),
    (
        "interventions.ladders.loop = [\"emergency_stop\", \"soft_correction\", \"emergency_stop\", \"emergency_stop\"]",
        &[(1, 23, "none milder than the one before it")],
    ),
    ("interventions.ladders.loop = [\"stop\"]", &[(1, 30, "`interventions.ladders.loop`")]),
    (
        "interventions.ladders.loop = [\"soft_corection:mine\"]",
        &[(1, 30, "did you mean `soft_correction`?")],
    ),
    (
        "interventions.ladders.loop = [\"soft_correction:Not A Name\"]",
        &[(1, 30, "holds `soft_correction:Not A Name`")],
    ),
    (
        "interventions.ladders.loop = [\"emergency_stop:mine\", \"soft_correction\", \"emergency_stop\", \"emergency_stop\"]",
        &[(1, 23, "none milder than the one before it")],
    ),
    // Types.
    (
        "mode = 1",
        &[(1, 8, "`mode` is a whole number; it must be one of `blocking`, `async`, `observe`")],
    ),
    ("[risk]\nhigh = \"much\"", &[(2, 8, "`risk.high` is text; it must be a number from 0 to 1")]),
    (
        "[reviewer]\nenabled = 0",
        &[(2, 11, "`reviewer.enabled` is a whole number; it must be `true` or `false`")],
    ),
    ("[limits]\ntoken_usage = 1.5", &[(2, 15, "`limits.token_usage` is a decimal")]),
    (
        "[interventions]\nemergency_stop = \"off\"",
        &[(2, 18, "`interventions.emergency_stop` is text")],
    ),
    ("[cache]\nenabled = 1", &[(2, 11, "`cache.enabled` is a whole number")]),
    (
        "hold_settings = \"yes\"",
        &[(1, 17, "`hold_settings` is text; it must be `true` or `false`")],
    ),
    (
        "[limits]\nfile_operations = \"many\"",
        &[(2, 19, "is text; it must be a whole number from 1 to")],
    ),
    ("[limits]\nfile_operations = 1.5", &[(2, 19, "is a decimal")]),
    (
        "[limits]\nfile_operations = 99999999999999999999",
        &[(2, 19, "is a number that is too large")],
    ),
    ("scope = 3", &[(1, 9, "`scope` is a whole number; it must be a table")]),
    ("[[scope]]\nfolders = []", &[(1, 1, "`scope` is a list of tables; it must be a table")]),
    ("[scope]\nfolders = \"/srv\"", &[(2, 11, "is text; it must be a list of paths")]),
    ("[scope]\nfolders = [\"/srv\", 1]", &[(2, 11, "is a list of other things than texts")]),
    ("plugins_dir = []", &[(1, 15, "`plugins_dir` is a list; it must be the path of a folder")]),
    ("durability = 1979-05-27", &[(1, 14, "`durability` is a date")]),
    ("plugins = true", &[(1, 11, "`plugins` is a boolean; it must be a table")]),
    ("[plugins]\nrisk = \"off\"", &[(2, 8, "`plugins.risk` is text; it must be a table")]),
    (
        "[plugins.risk]\nsettings = 1",
        &[(2, 12, "`plugins.risk.settings` is a whole number; it must be a table")],
    ),
    (
        "[plugins.mine.settings]\nat = 07:32:00",
        &[(2, 6, "is a date; it must be text, a finite number")],
    ),
    (
        "[plugins.mine.settings]\nx = [1]",
        &[(2, 5, "`plugins.mine.settings.x` is a list of other things than texts")],
    ),
    // Values.
    (
        "mode = \"observ\"",
        &[(
            1,
            8,
            "`mode` is `observ`; it must be one of `blocking`, `async`, `observe`; did you mean `observe`?",
        )],
    ),
    (
        "[plugins.mine.grants]\nhosts = [\"https://a.example\", \"a.example\"]",
        &[(
            2,
            9,
            "`plugins.mine.grants.hosts` holds `a.example`; it must be a list of `https://HOST`",
        )],
    ),
    (
        "[plugins.mine.grants]\nhosts = [\"https://*.example/x\"]",
        &[(2, 9, "holds `https://*.example/x`")],
    ),
    (
        "mode = \"off\"",
        &[(1, 8, "`mode` is `off`; it must be one of `blocking`, `async`, `observe`")],
    ),
    (
        "[reviewer]\nfirst = true",
        &[(2, 1, "`reviewer.first` is unknown; `reviewer` has `enabled`, `first_time`")],
    ),
    (
        "[risk]\nhigh_threshold = 0.7",
        &[(2, 1, "`risk.high_threshold` is unknown; `risk` has `critical`, `high`")],
    ),
    (
        "[risk]\ncritical = 1.01",
        &[(2, 12, "`risk.critical` is `1.01`; it must be a number from 0 to 1")],
    ),
    ("[risk]\nmedium = -1", &[(2, 10, "`risk.medium` is `-1`")]),
    ("[risk]\nnamed = nan", &[(2, 9, "`risk.named` is `NaN`")]),
    // Thresholds out of order, with the defaults, with each other, in a pipeline.
    (
        "[risk]\nmedium = 0.85",
        &[(
            2,
            1,
            "`risk.medium` is 0.85 and `risk.high` is 0.8; the higher level cannot begin before",
        )],
    ),
    (
        "[risk]\ncritical = 0.7\nhigh = 0.75",
        &[(3, 1, "`risk.high` is 0.75 and `risk.critical` is 0.7")],
    ),
    (
        "[rationality]\nmedium = 0.2",
        &[(2, 1, "`rationality.low` is 0.3 and `rationality.medium` is 0.2")],
    ),
    (
        "[rationality]\nhigh = 0.4\nmedium = 0.5",
        &[(3, 1, "`rationality.medium` is 0.5 and `rationality.high` is 0.4")],
    ),
    (
        "interventions.score_thresholds.emergency_stop = 0.6",
        &[(1, 32, "`interventions.score_thresholds.checkpoint_rollback` is 0.7 and")],
    ),
    (
        "risk.medium = 0.7\n[pipelines.x]\nprojects = [\"/a\"]\nrisk.high = 0.65",
        &[(4, 6, "`risk.medium` is 0.7 and `risk.high` is 0.65")],
    ),
    (
        "[scope]\npaths = [\"../x\"]",
        &[(
            2,
            9,
            "`scope.paths` holds `../x`; it must be a list of globs that begin with `/`, `~/` or at the project",
        )],
    ),
    ("[scope]\npaths = [\"src/[\"]", &[(2, 9, "`scope.paths` holds `src/[`")]),
    (
        "[limits]\nmemory_mb = 0",
        &[(2, 13, "`limits.memory_mb` is `0`; it must be a whole number from 1")],
    ),
    ("[limits]\nexecution_time_seconds = 0", &[(2, 26, "from 1")]),
    (
        "[patterns]\nsensitivity = \"hihg\"",
        &[(
            2,
            15,
            "`patterns.sensitivity` is `hihg`; it must be one of `low`, `medium`, `high`; did you mean `high`?",
        )],
    ),
    (
        "[patterns]\nenabled = [\"Loop!\"]",
        &[(2, 11, "`patterns.enabled` holds `Loop!`; it must be a list of plugins' names")],
    ),
    ("[audit]\nlevel = \"wran\"", &[(2, 9, "did you mean `warn`?")]),
    ("[performance]\nmax_review_time_ms = 0", &[(2, 22, "from 1")]),
    ("[performance]\nasync_threshold = 2", &[(2, 19, "`performance.async_threshold` is `2`")]),
    ("[cache]\nttl_minutes = 0", &[(2, 15, "from 1 to 525600")]),
    ("[cache]\nmax_size = 0", &[(2, 12, "from 1 to 1000000")]),
    (
        "[limits]\nfile_operations = 0",
        &[(2, 19, "`limits.file_operations` is `0`; it must be a whole number from 1")],
    ),
    ("[limits]\nfile_operations = -1", &[(2, 19, "is `-1`")]),
    ("[audit]\nretention_days = 40000", &[(2, 18, "from 0 to 36500")]),
    (
        "[audit]\nanchors = [\"head\"]",
        &[(2, 11, "`audit.anchors` holds `head`; it must be a list of paths")],
    ),
    (
        "[scope]\nfolders = [\"src\"]",
        &[(2, 11, "holds `src`; it must be a list of paths that begin with `/` or `~/`")],
    ),
    ("[scope]\nscratch = [\"/tmp/../etc\"]", &[(2, 11, "holds `/tmp/../etc`")]),
    (
        "[interventions]\nemergncy_stop = false",
        &[(2, 1, "did you mean `interventions.emergency_stop`?")],
    ),
    (
        "[mask]\npersonal = [\"token\"]",
        &[(
            2,
            12,
            "`mask.personal` holds `token`; it must be a list of `email`, `payment-card`, `phone`, `iban`, `national-id`, `ip-address`, `mac-address`, `person-name`, `postal-address`",
        )],
    ),
    (
        "[plugins.risk]\non_fault = \"allow\"",
        &[(2, 12, "it must be one of `warn`, `ask`, `block`")],
    ),
    ("plugins_dir = \"\"", &[(1, 15, "`plugins_dir` is ``")]),
    (
        "[plugins.\"My Plugin\"]\nenabled = true",
        &[(1, 10, "a plugin's name has 1 to 64 lower case letters")],
    ),
    ("[plugins.mine.settings]\nx = nan", &[(2, 5, "is `NaN`; it must be text, a finite number")]),
    ("[plugins.mine.settings]\nx = 1e999", &[(2, 5, "a finite number")]),
    // Settings of builtin plugins.
    (
        "[plugins.risk.settings]\nscop = 0.1",
        &[(
            2,
            1,
            "`plugins.risk.settings.scop` is unknown; did you mean `plugins.risk.settings.scope`?",
        )],
    ),
    (
        "[plugins.risk.settings]\nscope = \"much\"",
        &[(2, 1, "`plugins.risk.settings.scope` is `\"much\"`; it must be a number from 0 to 1")],
    ),
    (
        "[plugins.risk.settings]\nbase.network = 1.5",
        &[(2, 6, "`plugins.risk.settings.base.network` is `1.5`; it must be a number from 0 to 1")],
    ),
    (
        "[plugins.repetitive-errors.settings]\nthreshold = 1",
        &[(2, 1, "a whole number from 2 to 200")],
    ),
    ("[plugins.jsonl.settings]\nx = 1", &[(2, 1, "the plugin `jsonl` has no settings")]),
    (
        "[plugins.risk.settings]\nbase.network = 0.1\n\"base.network\" = 0.2",
        &[(3, 1, "given twice")],
    ),
    // Pipelines.
    ("pipelines = 1", &[(1, 13, "`pipelines` is a whole number; it must be a table")]),
    ("[pipelines]\nx = 1", &[(2, 5, "`pipelines.x` is a whole number; it must be a table")]),
    (
        "[pipelines.x]\nmode = \"observe\"",
        &[(1, 12, "`pipelines.x` has no `projects`, so it never applies")],
    ),
    ("[pipelines.x]\nprojects = []", &[(2, 12, "`pipelines.x.projects` is empty")]),
    (
        "[pipelines.x]\nprojects = [\"work\"]",
        &[(2, 12, "holds `work`; it must be a list of globs")],
    ),
    ("[pipelines.x]\nprojects = [\"/a/**b\"]", &[(2, 12, "which is not a valid glob")]),
    (
        "[pipelines.x]\nprojects = [\"/a\"]\nmod = 1",
        &[(3, 1, "`pipelines.x.mod` is unknown; did you mean `pipelines.x.mode`?")],
    ),
    (
        "[pipelines.x]\nprojects = [\"/a\"]\naudit.retention_days = 1",
        &[(3, 1, "`pipelines.x.audit` applies to the whole installation")],
    ),
    (
        "[pipelines.x]\nprojects = [\"/a\"]\n[pipelines.x.pipelines.y]\nprojects = [\"/b\"]",
        &[(3, 14, "`pipelines.x.pipelines` is unknown")],
    ),
    ("[pipelines.\"X Y\"]\nprojects = [\"/a\"]", &[(1, 12, "a pipeline's name has 1 to 64")]),
    // Invalid TOML.
    ("mode = ", &[(1, 8, "it is not TOML")]),
    ("{}", &[(1, 1, "it is not TOML")]),
    ("mode = \"observe\"\nmode = \"blocking\"", &[(2, 1, "it is not TOML: duplicate key")]),
    ("[limits]\n[limits]", &[(2, 2, "it is not TOML")]),
    // Everything at once, in order.
    (
        "mod = 1\n\n[limits]\nfile_operations = 0\nx = 2\n[mask]\npersonal = 1",
        &[(1, 1, "`mod`"), (4, 19, "`0`"), (5, 1, "`limits.x`"), (7, 12, "`mask.personal`")],
    ),
    ("a = \nb = 1", &[(1, 5, "it is not TOML"), (2, 1, "`b` is unknown")]),
];

#[test]
fn every_problem_is_named_with_its_place() {
    assert!(ROWS.len() >= 40);
    for (text, expected) in ROWS {
        let Err(problems) = parse_layer(Layer::User, Path::new("/c/config.toml"), text) else {
            panic!("accepted:\n{text}")
        };
        let found: Vec<String> = problems.problems.iter().map(ToString::to_string).collect();
        assert_eq!(found.len(), expected.len(), "{text}\n{found:#?}");
        for (problem, (line, column, part)) in found.iter().zip(*expected) {
            assert!(
                problem.starts_with(&format!("line {line}, column {column}: ")),
                "{text}\n{problem}"
            );
            assert!(problem.contains(part), "{text}\n{problem}");
        }
        let message = problems.to_string();
        assert!(message.starts_with("the configuration `/c/config.toml`"), "{message}");
        assert!(
            !message.contains(['\n', '\u{202e}']) && message.len() < 4096,
            "one harmless line: {message}"
        );
        let file_lines = problems.lines();
        assert!(
            file_lines.iter().all(|line| line.starts_with("/c/config.toml:")),
            "{file_lines:?}"
        );
    }
}

#[test]
fn nothing_said_means_the_defaults() {
    let config = user("");
    let clients = portcullis_agents::PROFILES;
    assert_eq!(config.policy, Policy { clients, ..Policy::default() });
    assert_eq!(config.plugins_dir, Path::new("/home/me/.config/portcullis/plugins"));
    assert_eq!((config.audit.retention_days, config.audit.anchors.len()), (30, 0));
    assert_eq!((config.audit.export_format.as_str(), config.max_review_time_ms), ("jsonl", 100));
    assert_eq!(config.cache, Cache { enabled: true, ttl_minutes: 5, max_size: 1000 });
    assert_eq!(config.patterns, Patterns { enabled: None, sensitivity: None });
    assert!(config.plugins.is_empty() && config.untrusted.is_empty());
}

#[test]
fn everything_can_be_said() {
    let config = user(
        "mode = \"observe\"\ndurability = \"full\"\nplugins_dir = \"/opt/checks\"\nhold_settings = false\n\
         [reviewer]\nfirst_time = false\n[risk]\nnegligible = 0\nmedium = 0.5\nhigh = 0.7\ncritical = 1\nnamed = 0.6\n\
         [rationality]\nhigh = 0.9\nmedium = 0.6\nlow = 0.1\n\
         [scope]\nfolders = [\"/srv/data\"]\npaths = [\"src/**\"]\nscratch = [\"/tmp\"]\n\
         [limits]\nfile_operations = 7\nmemory_mb = 8\nexecution_time_seconds = 9\ntoken_usage = 10\n\
         [interventions]\nstrategy = \"pattern_specific\"\nemergency_stop = false\nsoft_correction = true\nmost = 3\ncooldown_seconds = 5\n\
         escalation_delay_seconds = 6\nescalation_delay_steps = 2\neffectiveness_threshold = 0.4\n\
         severity_weights = { low = 0.1, critical = 0.9 }\nscore_thresholds.context_reinforcement = 0.2\n[interventions.templates]\nloop = \"stop it\"\n\
         [interventions.ladders]\n\"of a third party\" = [\"soft_correction\", \"soft_correction\", \"emergency_stop\", \"emergency_stop\"]\n\
         [mask]\npersonal = [\"email\"]\n[patterns]\nenabled = [\"scope-creep\"]\nsensitivity = \"high\"\n\
         [performance]\nmax_review_time_ms = 20\nasync_threshold = 0.2\n[cache]\nenabled = false\nttl_minutes = 1\nmax_size = 2\n\
         [audit]\nlevel = \"warn\"\nexport_format = \"csv\"\nretention_days = 0\nanchors = [\"~/head\", \"/mnt/head\"]\n\
         [plugins.mine]\non_fault = \"ask\"\nshadow = true\n[plugins.mine.settings.scope]\nweight = 0xc8\nnames = [\"a\"]\nshare = -1.5e-1\n",
    );
    assert_eq!(config.policy.mode, Mode::Observe);
    assert_eq!(config.durability, portcullis_store::Durability::Full);
    assert_eq!(config.plugins_dir, Path::new("/opt/checks"));
    let limits = config.policy.limits;
    assert_eq!(
        (
            limits.file_operations,
            limits.memory_mb,
            limits.execution_time_seconds,
            limits.token_usage
        ),
        (7, 8, 9, 10)
    );
    let decision = config.policy.decision;
    let scores = [
        decision.risk.negligible,
        decision.risk.medium,
        decision.risk.high,
        decision.risk.critical,
        decision.risk.named,
    ];
    assert_eq!(scores.map(portcullis_core::score::Score::get), [0, 500, 700, 1000, 600]);
    let scores = [
        decision.rationality.high,
        decision.rationality.medium,
        decision.rationality.low,
        config.policy.async_threshold,
    ];
    assert_eq!(scores.map(portcullis_core::score::Score::get), [900, 600, 100, 200]);
    assert!(!decision.first_time);
    assert_eq!(
        (config.policy.scope.paths.concat(), config.policy.interventions.disabled.concat()),
        ("src/**".into(), "emergency_stop".into())
    );
    assert_eq!(
        (config.policy.detail, config.audit.export_format.as_str(), config.max_review_time_ms),
        (Detail::Warn, "csv", 20)
    );
    assert_eq!(
        config.patterns,
        Patterns { enabled: Some(vec!["scope-creep".into()]), sensitivity: Some("high".into()) }
    );
    assert_eq!(config.cache, Cache { enabled: false, ttl_minutes: 1, max_size: 2 });
    assert_eq!(user("mode = \"async\"").policy.mode, Mode::Async);
    assert_eq!(user("mode = \"async\"\nreviewer.enabled = false").policy.mode, Mode::Off);
    assert_eq!(config.policy.interventions.cooldown_ms, 5000);
    let interventions = &config.policy.interventions;
    assert_eq!(interventions.effective_from.get(), 400);
    assert_eq!(interventions.scale.base.map(|base| base.get()), [100, 500, 800, 900]);
    assert_eq!(interventions.scale.from.map(|from| from.get()), [200, 500, 700, 900]);
    let off = user("interventions.enabled = false").policy.interventions.disabled;
    assert_eq!(off.len(), 5, "{off:?}");
    assert_eq!(config.policy.interventions.templates["loop"], "stop it");
    let ladder = |pattern: &str| config.policy.interventions.ladder_of(pattern).kinds();
    assert_eq!(ladder("of a third party").map(|kind| kind as usize), [0, 0, 4, 4]);
    assert_eq!(ladder("secret_egress").map(|kind| kind as usize), [1, 4, 4, 4], "as by default");
    assert_eq!(config.policy.mask.kinds.len(), 1);
    assert_eq!(
        (config.audit.retention_days, config.audit.anchors[0].as_path()),
        (0, Path::new("/home/me/head"))
    );
    let mine = &config.plugins["mine"];
    assert_eq!((mine.on_fault, mine.shadow), (Some(OnFault::Ask), true));
    let settings: Vec<String> = mine
        .settings
        .iter()
        .map(|setting| format!("{} {:?}", setting.key, setting.value))
        .collect();
    assert_eq!(
        settings,
        ["scope.names Texts([\"a\"])", "scope.share Decimal(-0.15)", "scope.weight Integer(200)"]
    );
}

/// A hostile project's file is read in bounded space, and its problems stay short.
#[test]
fn a_megabyte_of_anything_is_a_short_error() {
    let lines = |line: &str| line.repeat((1 << 20) / line.len());
    let numbered: String = (0..60_000).map(|number| format!("k{number} = 1\n")).collect();
    let duplicates: String =
        (0..20_000).map(|number| format!("k{number}.x = 1\n\"k{number}.x\" = 1\n")).collect();
    for (name, text) in [
        ("openings", lines("[")),
        ("nested tables", "a = ".to_owned() + &lines("{a=")),
        ("garbage", lines("}=\"\u{1}\n")),
        ("dotted keys", lines("a.") + "a = 1"),
        ("headers", lines("[a.b.c.d]\n")),
        ("unknown keys", numbered),
        ("settings", format!("[plugins.risk.settings]\n{duplicates}")),
        ("one long name", lines("a") + " = 1"),
        ("one long value", format!("mode = \"{}\"", lines("x"))),
        ("a long list", format!("[scope]\nfolders = [{}]", lines("\"/a\","))),
    ] {
        let Err(problems) = parse_layer(Layer::Project, Path::new("/p"), &text) else {
            panic!("{name} is accepted")
        };
        assert!(problems.problems.len() <= MOST, "{name}");
        assert!(problems.to_string().len() < 4096, "{name}");
        assert!(problems.problems.iter().all(|problem| problem.what.len() < 2048), "{name}");
    }
    // Large and valid.
    let templates: String = (0..20_000).map(|number| format!("t{number} = \"x\"\n")).collect();
    assert_eq!(
        file(Layer::User, &format!("[interventions.templates]\n{templates}")).document.said.len(),
        20_000
    );
}
