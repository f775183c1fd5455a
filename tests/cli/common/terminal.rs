//! A person at a terminal in a site.

use super::site::Site;
use anyhow::Result;
use portcullis_tests::terminal::{converse, script};
use std::process::Command;

pub use portcullis_tests::terminal::{Answer, Session, Shown};

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

    /// Starts one of our commands at a terminal, for a person who reads and types as the test goes
    /// on.
    pub fn open_terminal(&self, arguments: &[&str]) -> Result<Session> {
        let words: Vec<String> = std::iter::once(self.binary().display().to_string())
            .chain(arguments.iter().map(|word| (*word).to_owned()))
            .collect();
        Session::start(self.script(&words, &[]))
    }

    fn converse(
        &self,
        words: &[String],
        answer: Answer<'_>,
        environment: &[(&str, &str)],
    ) -> Result<Shown> {
        converse(self.script(words, environment), answer)
    }

    fn script(&self, words: &[String], environment: &[(&str, &str)]) -> Command {
        let ours = self.command(&[]);
        let mut script = script(words);
        script
            .env_clear()
            .envs(ours.get_envs().filter_map(|(name, value)| Some((name, value?))))
            .env("PATH", "/usr/bin:/bin");
        script.env("TERM", "dumb").env("SHELL", "/bin/sh").envs(environment.iter().copied());
        self.as_its_user(&mut script);
        script.current_dir(self.project());
        script
    }
}
