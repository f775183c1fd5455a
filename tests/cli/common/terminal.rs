//! A person at a terminal in a site.

use super::site::Site;
use anyhow::Result;
use portcullis_tests::terminal::{converse, script};

pub use portcullis_tests::terminal::{Answer, Shown};

impl Site {
    /// Runs one of our commands at a terminal of that many columns.
    pub fn at_a_terminal_of(&self, columns: usize, arguments: &[&str]) -> Result<Shown> {
        let resize = format!("stty cols {columns} rows 24; exec \"$0\" \"$@\"");
        let binary = self.binary().display().to_string();
        let words = ["sh", "-c", &resize, &binary].into_iter().chain(arguments.iter().copied());
        self.converse(&words.map(str::to_owned).collect::<Vec<_>>(), Answer::Word, &[])
    }

    /// Runs one of our commands at a terminal.
    pub fn at_a_terminal(
        &self,
        arguments: &[&str],
        answer: Answer<'_>,
        environment: &[(&str, &str)],
    ) -> Result<Shown> {
        let words: Vec<String> = std::iter::once(self.binary().display().to_string())
            .chain(arguments.iter().map(|word| (*word).to_owned()))
            .collect();
        self.converse(&words, answer, environment)
    }

    fn converse(
        &self,
        words: &[String],
        answer: Answer<'_>,
        environment: &[(&str, &str)],
    ) -> Result<Shown> {
        let ours = self.command(&[]);
        let mut script = script(words);
        script
            .env_clear()
            .envs(ours.get_envs().filter_map(|(name, value)| Some((name, value?))))
            .env("PATH", "/usr/bin:/bin");
        script.env("TERM", "dumb").env("SHELL", "/bin/sh").envs(environment.iter().copied());
        self.as_its_user(&mut script);
        script.current_dir(self.project());
        converse(script, answer)
    }
}
