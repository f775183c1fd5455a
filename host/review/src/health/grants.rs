//! Reports the grants of plugins from files, one line each, so that grants are not forgotten.

use super::finding::{Check, HealthFinding};
use portcullis_config::GrantConfig;
use portcullis_core::text::one_line;

/// The most names of one kind in a line.
const MOST: usize = 5;

/// Reports one plugin's grants; `None` if it has none.
pub(super) fn describe_grants(plugin: &str, grants: &GrantConfig) -> Option<HealthFinding> {
    let random = match grants.random.as_deref() {
        Some("seeded") => Some("random bytes from a seed".to_owned()),
        Some("system") => Some("the system's random bytes".to_owned()),
        _ => None,
    };
    let had = [
        grants.clocks.then(|| "the machine's clocks".to_owned()),
        random,
        names("the variables", &grants.environment),
        names("the files in", &grants.directories),
        grants.project.then(|| "the files in the project's folder".to_owned()),
        names("requests to", &grants.hosts),
    ];
    let had: Vec<String> = had.into_iter().flatten().collect();
    let what = format!("the plugin `{plugin}` is granted {}", had.join(", "));
    (!had.is_empty()).then(|| HealthFinding::note(Check::Configuration, what, ""))
}

fn names(what: &str, names: &[String]) -> Option<String> {
    let shown: Vec<String> =
        names.iter().take(MOST).map(|name| format!("`{}`", one_line(name, 200))).collect();
    let more = names.len().saturating_sub(MOST);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    (!shown.is_empty()).then(|| format!("{what} {}{more}", shown.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_grant_is_reported() {
        let texts = |count: usize| (0..count).map(|at| format!("/{at}")).collect::<Vec<_>>();
        let table = [
            (GrantConfig::default(), None),
            (GrantConfig { clocks: true, ..GrantConfig::default() }, Some("the machine's clocks")),
            (GrantConfig { random: Some("fixed".into()), ..GrantConfig::default() }, None),
            (
                GrantConfig {
                    random: Some("system".into()),
                    project: true,
                    ..GrantConfig::default()
                },
                Some("the system's random bytes, the files in the project's folder"),
            ),
            (
                GrantConfig { environment: vec!["CI".into()], ..GrantConfig::default() },
                Some("the variables `CI`"),
            ),
            (
                GrantConfig { hosts: vec!["https://a.example".into()], ..GrantConfig::default() },
                Some("requests to `https://a.example`"),
            ),
            (
                GrantConfig { directories: texts(7), ..GrantConfig::default() },
                Some("the files in `/0`, `/1`, `/2`, `/3`, `/4` and 2 more"),
            ),
        ];
        for (grants, expected) in table {
            let described = describe_grants("mine", &grants).map(|finding| finding.what);
            assert_eq!(
                described,
                expected.map(|had| format!("the plugin `mine` is granted {had}")),
                "{grants:?}"
            );
        }
    }
}
