//! Asks before an applied database migration is changed.
//!
//! Whoever ran a migration has its old text: changing the file changes nothing for them, and
//! everything for those who run it later.

use portcullis_plugin::risk_calculator::*;
use portcullis_plugin::types::{EffectKind, Path};

/// The plugin.
pub struct Plugin;

impl RiskCalculator for Plugin {
    const DESCRIPTOR: Descriptor = Descriptor::new(
        env!("CARGO_PKG_NAME"),
        env!("CARGO_PKG_VERSION"),
        "Asks before an applied database migration is changed or deleted.",
    )
    .severity(Severity::High)
    .settings(&[Spec::texts(
        "folders",
        &["migrations"],
        "names of the folders that hold migrations",
    )]);

    fn assess(prepared: &[u8], action: &Action, _: &Context) -> Result<Assessment, Error> {
        let settings = Settings::read(prepared)?;
        let folders = settings.texts("folders")?;
        let changed = action
            .touched()
            .filter(|(kind, _)| matches!(kind, EffectKind::FileModify | EffectKind::FileDelete));
        let applied = changed.map(|(_, path)| path).find(|path| is_in(path, folders));
        Ok(applied.map_or(Assessment::nothing(), |path| {
            Ruling::ask("sample-check", "an applied migration must stay as it was run")
                .severity(Severity::High)
                .because(Evidence::path(&path.text))
                .instead("write a new migration that makes the change")
                .into()
        }))
    }
}

portcullis_plugin::export!(risk-calculator: Plugin);

/// Returns true if one of its parent folders has one of the names.
fn is_in(path: &Path, folders: &[String]) -> bool {
    path.text.rsplit_once('/').is_some_and(|(parents, _)| {
        parents.split('/').any(|name| folders.iter().any(|folder| folder == name))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_plugin::testing::{self, BuildAction};

    #[test]
    fn applied_migrations_are_asked_about() {
        let prepared = Plugin::prepare(&[]).unwrap();
        for (action, expected) in [
            (testing::file_edit("db/migrations/0001.sql", "int", "bigint"), 1),
            (testing::shell("rm migrations/*.sql").deletes("migrations/*.sql"), 1),
            (testing::file_read("db/migrations/0001.sql"), 0),
            (testing::file_edit("src/migrations.rs", "a", "b"), 0),
        ] {
            let assessment = Plugin::assess(&prepared, &action, &testing::context()).unwrap();
            assert_eq!(assessment.rulings.len(), expected, "{}", action.parameters);
        }
    }

    #[test]
    fn a_misspelt_setting_is_reported() {
        let error = Plugin::prepare(&[Setting::new("folder", ["schema"])]).unwrap_err();
        assert_eq!(error.message(), "setting `folder`: unknown; did you mean `folders`?");
    }
}
