//! The spelling of commands that a person runs on the records of an agent: the one place for it.
//!
//! Without a boundary the records are the person's own, and `portcullis explain ID` shows one. Behind
//! a boundary they are the service's: an administrator runs the command, and names the user.

/// The commands that work on records which a service keeps for a user.
pub const RECORD_COMMANDS: &[&str] = &[
    "allow",
    "approvals",
    "audit",
    "checkpoint",
    "config",
    "explain",
    "exports",
    "feedback",
    "incident",
    "metrics",
    "notifications",
    "open",
    "pause",
    "recover",
    "resume",
];
/// The program, as commands begin with it.
const PROGRAM: &str = "portcullis ";
/// The begin of a command in one of our texts.
const QUOTED: &str = "`portcullis ";
/// The option that names the user.
const OF_USER: &str = "--of-user";

/// The records that commands are about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordCommands {
    /// The user whose agents they are of, behind a boundary.
    user: Option<String>,
}

impl RecordCommands {
    /// Returns the commands for what the service of a boundary keeps of a user, by name or id.
    #[must_use]
    pub fn of_user(user: impl Into<String>) -> Self {
        Self { user: Some(user.into()) }
    }

    /// Returns the user that the commands name, behind a boundary.
    #[must_use]
    pub fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }

    /// Returns a command without the program's name, such as `explain ID`, as a person types it.
    #[must_use]
    pub fn spell(&self, command: &str) -> String {
        match &self.user {
            Some(user) if is_about_records(command) => {
                format!("sudo {PROGRAM}{command} {OF_USER} {user}")
            }
            _ => format!("{PROGRAM}{command}"),
        }
    }

    /// Returns a whole command as a person types it; any other text stays.
    #[must_use]
    pub fn spell_line(&self, line: &str) -> String {
        line.strip_prefix(PROGRAM).map_or_else(|| line.to_owned(), |command| self.spell(command))
    }

    /// Returns one of our texts with all commands in backticks as a person types them. What
    /// `is_quoted` knows as the words of somebody else stays as it was written.
    #[must_use]
    pub fn spell_in(&self, text: &str, is_quoted: impl Fn(&str) -> bool) -> String {
        if self.user.is_none() || !text.contains(PROGRAM) {
            return text.to_owned();
        }
        let (mut spelled, mut rest) = (String::new(), text);
        while let Some((before, opened)) = rest.split_once(QUOTED) {
            let Some((command, after)) = opened.split_once('`') else { break };
            let whole = format!("{PROGRAM}{command}");
            let shown = if is_quoted(&whole) { whole } else { self.spell(command) };
            spelled.push_str(before);
            spelled.push('`');
            spelled.push_str(&shown);
            spelled.push('`');
            rest = after;
        }
        spelled + rest
    }
}

fn is_about_records(command: &str) -> bool {
    let name = command.split_whitespace().next().unwrap_or_default();
    RECORD_COMMANDS.contains(&name) && !command.contains(OF_USER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_names_the_user_whose_records_it_is_about() {
        let ann = RecordCommands::of_user("ann");
        for (command, spelled) in [
            ("explain r1", "sudo portcullis explain r1 --of-user ann"),
            ("approvals allow a1", "sudo portcullis approvals allow a1 --of-user ann"),
            ("doctor", "portcullis doctor"),
            ("install claude", "portcullis install claude"),
            ("audit show --of-user bob", "portcullis audit show --of-user bob"),
        ] {
            assert_eq!(ann.spell(command), spelled);
            assert_eq!(ann.spell_line(&format!("portcullis {command}")), spelled);
            assert_eq!(RecordCommands::default().spell(command), format!("portcullis {command}"));
        }
        assert_eq!(ann.spell_line("http://portcullis.localhost/"), "http://portcullis.localhost/");
    }

    #[test]
    fn a_text_names_commands_that_work_and_quotes_others_as_they_are() {
        let ann = RecordCommands::of_user("ann");
        let said = |text: &str| text == "portcullis allow r1";
        for (text, spelled) in [
            ("see `portcullis explain r1`.", "see `sudo portcullis explain r1 --of-user ann`."),
            (
                "`portcullis audit verify`, then `portcullis recover`",
                "`sudo portcullis audit verify --of-user ann`, then `sudo portcullis recover \
                 --of-user ann`",
            ),
            ("`portcullis doctor` and `portcullis`", "`portcullis doctor` and `portcullis`"),
            // The words of an agent.
            ("`portcullis allow r1` changes the guard", "`portcullis allow r1` changes the guard"),
            // No command, and a quotation that does not end.
            ("portcullis explain r1", "portcullis explain r1"),
            ("it`s `portcullis explain r1", "it`s `portcullis explain r1"),
            ("", ""),
        ] {
            assert_eq!(ann.spell_in(text, said), spelled);
            assert_eq!(RecordCommands::default().spell_in(text, said), text);
        }
    }
}
