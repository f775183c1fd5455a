//! The values in force, in the types of their users.

use crate::layers::{EffectiveValue, Layer, MergedSettings};
use crate::parse::KeyValue;
use crate::paths::{PROJECT_FILE, Paths};
use crate::{Checkpoints, Patterns, PluginConfig, at_home, keys, ladders, rules};
use portcullis_core::breaker::BreakerPolicy;
use portcullis_core::fault::OnFault;
use portcullis_core::intervene::InterventionKind as Intervention;
use portcullis_core::ladder::Ladder;
use portcullis_core::mask::{MaskPolicy, SecretKind};
use portcullis_core::policy::{
    DecisionPolicy, Detail, InterventionPolicy, IssueScale, LimitPolicy, Mode, Policy,
    RationalityThresholds, RiskThresholds, ScopePolicy, Strategy,
};
use portcullis_core::score::{RiskLevel, Score};
use portcullis_core::undo::OnFailure;
use portcullis_engine::{Setting, SettingValue as Value};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The values in force, in the types of their users. Every value was checked when it was read; for
/// a key that is missing from the table, the zero value of its type applies; a test checks that no
/// key is missing.
pub(crate) struct EffectiveValues<'a>(pub(crate) &'a MergedSettings);

impl EffectiveValues<'_> {
    pub(crate) fn policy(&self) -> Policy {
        let millis = |path: &str| self.number(path).saturating_mul(1000);
        let word = |path: &str| self.text(path);
        let mode = if self.flag("reviewer.enabled") {
            word("mode")
        } else {
            Mode::Off.as_str().to_owned()
        };
        let strategy = word("interventions.strategy");
        let kinds = |path: &str| -> Vec<SecretKind> {
            let words = self.texts(path);
            let kind = |word: &String| serde_json::from_value(word.as_str().into()).ok();
            words.iter().filter_map(kind).collect()
        };
        let default = Policy::default();
        Policy {
            mode: Mode::ALL
                .iter()
                .copied()
                .find(|known| known.as_str() == mode)
                .unwrap_or(default.mode),
            decision: self.decision(),
            async_threshold: self.score("performance.async_threshold"),
            detail: Detail::ALL
                .iter()
                .copied()
                .find(|known| known.as_str() == word("audit.level"))
                .unwrap_or(default.detail),
            scope: ScopePolicy {
                folders: self.texts("scope.folders"),
                paths: self.texts("scope.paths"),
                scratch: self.texts("scope.scratch"),
            },
            limits: LimitPolicy {
                file_operations: self.number("limits.file_operations"),
                memory_mb: self.number("limits.memory_mb"),
                execution_time_seconds: self.number("limits.execution_time_seconds"),
                token_usage: self.number("limits.token_usage"),
                processes: self.number("limits.processes"),
                output_mb: self.number("limits.output_mb"),
            },
            interventions: InterventionPolicy {
                strategy: Strategy::ALL
                    .iter()
                    .copied()
                    .find(|known| known.as_str() == strategy)
                    .unwrap_or(default.interventions.strategy),
                disabled: self.disabled(),
                most: u32::try_from(self.number("interventions.most")).unwrap_or(u32::MAX),
                cooldown_ms: millis("interventions.cooldown_seconds"),
                escalation_delay_ms: millis("interventions.escalation_delay_seconds"),
                escalation_delay_steps: self.number("interventions.escalation_delay_steps"),
                effective_from: self.score("interventions.effectiveness_threshold"),
                scale: self.issue_scale(),
                undelayed: default.interventions.undelayed,
                ladders: self.ladders(default.interventions.ladders),
                raising: default.interventions.raising,
                templates: self.named_texts("interventions.templates.*"),
                plugins: self.named_texts("interventions.plugins.*"),
                decider: Some(self.text("interventions.decider")).filter(|name| !name.is_empty()),
                most_retries: u32::try_from(self.number("interventions.most_retries"))
                    .unwrap_or(u32::MAX),
                auto_rollback: self.flag("interventions.auto_rollback"),
            },
            on_failure: OnFailure::ALL
                .iter()
                .copied()
                .find(|known| known.as_str() == word("checkpoints.on_failure"))
                .unwrap_or(default.on_failure),
            guarded: default.guarded,
            clients: portcullis_agents::PROFILES,
            mask: MaskPolicy {
                kinds: kinds("mask.personal"),
                unlinked: kinds("mask.unlinked"),
                patterns: self.texts("mask.patterns").clone(),
            },
            mask_results: self.flag("mask.results"),
            hold_settings: self.flag("hold_settings"),
        }
    }

    pub(crate) fn breaker(&self) -> BreakerPolicy {
        let count = |path: &str| u32::try_from(self.number(path)).unwrap_or(u32::MAX);
        BreakerPolicy {
            faults: count("breaker.faults"),
            back_off_ms: self.number("breaker.back_off_seconds").saturating_mul(1000),
            quarantine_after: count("breaker.quarantine_after"),
        }
    }

    pub(crate) fn checkpoints(&self) -> Checkpoints {
        let bytes = |path: &str| self.number(path).saturating_mul(1 << 20);
        Checkpoints {
            enabled: self.flag("checkpoints.enabled"),
            ignored: self.text("checkpoints.ignored") == "keep",
            budget: Duration::from_millis(self.number("checkpoints.budget_ms")),
            max_file: bytes("checkpoints.max_file_mb"),
            max_total: bytes("checkpoints.max_total_mb"),
            kept: Duration::from_secs(self.number("checkpoints.kept_minutes").saturating_mul(60)),
        }
    }

    /// Returns the values below a path with a name in it: by name, by key.
    pub(crate) fn named_tables(&self, above: &str) -> BTreeMap<String, BTreeMap<String, Value>> {
        let mut tables: BTreeMap<String, BTreeMap<String, Value>> = BTreeMap::new();
        for KeyValue { key, name, value, .. } in self.0.entries.values().map(|entry| &entry.said) {
            if let Some(last) = key.path.strip_prefix(above) {
                tables.entry(name.clone()).or_default().insert(last.to_owned(), value.clone());
            }
        }
        tables
    }

    fn decision(&self) -> DecisionPolicy {
        DecisionPolicy {
            risk: RiskThresholds {
                negligible: self.score("risk.negligible"),
                medium: self.score("risk.medium"),
                high: self.score("risk.high"),
                critical: self.score("risk.critical"),
                named: self.score("risk.named"),
            },
            rationality: RationalityThresholds {
                high: self.score("rationality.high"),
                medium: self.score("rationality.medium"),
                low: self.score("rationality.low"),
            },
            first_time: self.flag("reviewer.first_time"),
        }
    }

    fn issue_scale(&self) -> IssueScale {
        let under = |table: &str, names: [&str; 4]| {
            names.map(|name| self.score(&format!("interventions.{table}.{name}")))
        };
        let kinds = [
            "context_reinforcement",
            "resource_throttling",
            "checkpoint_rollback",
            "emergency_stop",
        ];
        IssueScale {
            base: under("severity_weights", ["low", "medium", "high", "critical"]),
            from: under("score_thresholds", kinds),
        }
    }

    /// Returns the names of the disabled interventions.
    fn disabled(&self) -> Vec<String> {
        let names = Intervention::ALL.iter().map(|kind| kind.as_str());
        let all = !self.flag("interventions.enabled");
        names
            .filter(|name| all || !self.flag(&format!("interventions.{name}")))
            .map(str::to_owned)
            .collect()
    }

    pub(crate) fn patterns(&self) -> Patterns {
        let enabled = self.texts("patterns.enabled");
        let said = self.0.entries.contains_key("patterns.sensitivity");
        Patterns {
            enabled: (!enabled.iter().any(|name| name == "all")).then_some(enabled),
            sensitivity: said.then(|| self.text("patterns.sensitivity")),
        }
    }

    pub(crate) fn plugins_dir(&self, places: &Paths) -> PathBuf {
        let folder = self.text("plugins_dir");
        let project = places.project.as_ref().map(|project| project.join(PROJECT_FILE));
        let base = match self.0.entries.get("plugins_dir").map(|entry| entry.origin.layer) {
            Some(Layer::Managed) => places.managed.parent(),
            Some(Layer::Project) => project.as_deref().and_then(Path::parent),
            Some(Layer::Orders | Layer::User | Layer::Profile) | None => {
                Some(places.config.as_path())
            }
        };
        base.unwrap_or(&places.config).join(at_home(&folder, &places.person))
    }

    /// Returns the texts of a key whose last part is any name, by that name.
    fn named_texts(&self, path: &'static str) -> BTreeMap<String, String> {
        self.of_key(path)
            .filter_map(|entry| Some((entry.said.name.clone(), text_of(&entry.said.value)?)))
            .collect()
    }

    /// Returns the ladders: the default ones, with those that are configured in their place.
    fn ladders(&self, mut ladders: BTreeMap<String, Ladder>) -> BTreeMap<String, Ladder> {
        ladders.extend(self.of_key("interventions.ladders.*").filter_map(|entry| {
            let ladder = ladders::ladder_of(&entry.said.value)?;
            Some((entry.said.name.clone(), ladder))
        }));
        ladders
    }

    pub(crate) fn plugins(&self) -> BTreeMap<String, PluginConfig> {
        let mut plugins: BTreeMap<String, PluginConfig> = BTreeMap::new();
        for entry in self.0.entries.values().filter(|entry| entry.said.path.starts_with("plugins."))
        {
            let (said, value) = (&entry.said, &entry.said.value);
            let plugin = plugins.entry(said.name.clone()).or_default();
            match (said.key.path, value) {
                ("plugins.*.enabled", Value::Flag(flag)) => plugin.enabled = Some(*flag),
                ("plugins.*.shadow", Value::Flag(flag)) => plugin.shadow = *flag,
                ("plugins.*.on_fault", Value::Text(word)) => {
                    plugin.on_fault =
                        OnFault::ALL.iter().copied().find(|known| known.as_str() == word);
                }
                (path, value) if path.starts_with("plugins.*.grants.") => {
                    plugin.grants.set(path.rsplit('.').next().unwrap_or_default(), value);
                }
                _ => plugin
                    .settings
                    .push(Setting { key: said.setting.clone(), value: value.clone() }),
            }
        }
        for entry in self.0.entries.values() {
            if let Some(setting) = rules::setting(&entry.said) {
                plugins.entry("rules".to_owned()).or_default().settings.push(setting);
            }
        }
        // Their order has no meaning, so it must not distinguish prepared settings either.
        plugins.values_mut().for_each(|plugin| plugin.settings.sort_by(|a, b| a.key.cmp(&b.key)));
        plugins
    }

    fn of_key(&self, path: &'static str) -> impl Iterator<Item = &EffectiveValue> {
        self.0.entries.values().filter(move |entry| entry.said.key.path == path)
    }

    pub(crate) fn value(&self, path: &str) -> Option<Value> {
        self.0.value_of(keys::find_by_name(path)?)
    }

    pub(crate) fn text(&self, path: &str) -> String {
        self.value(path).and_then(|value| text_of(&value)).unwrap_or_default()
    }

    pub(crate) fn texts(&self, path: &str) -> Vec<String> {
        match self.value(path) {
            Some(Value::Texts(texts)) => texts,
            _ => Vec::new(),
        }
    }

    pub(crate) fn flag(&self, path: &str) -> bool {
        self.value(path) == Some(Value::Flag(true))
    }

    /// Returns a level of risk; `None` for a word that is none, such as `never`.
    pub(crate) fn risk_level(&self, path: &str) -> Option<RiskLevel> {
        let word = self.text(path);
        RiskLevel::ALL.iter().copied().find(|level| level.as_str() == word)
    }

    /// Returns a score in whole thousandths, as all scores are.
    fn score(&self, path: &str) -> Score {
        match self.value(path) {
            // It was checked to be from 0 to 1 when it was read.
            Some(Value::Decimal(number)) => Score::new((number * 1000.0).round() as u16),
            _ => Score::ZERO,
        }
    }

    pub(crate) fn days(&self, path: &str) -> u32 {
        u32::try_from(self.number(path)).unwrap_or(u32::MAX)
    }

    pub(crate) fn number(&self, path: &str) -> u64 {
        match self.value(path) {
            Some(Value::Integer(number)) => u64::try_from(number).unwrap_or_default(),
            _ => 0,
        }
    }
}

fn text_of(value: &Value) -> Option<String> {
    if let Value::Text(text) = value { Some(text.clone()) } else { None }
}
