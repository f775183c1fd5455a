//! The pages as a person's browser asks for them.

use crate::ground::RunningHub;
use crate::usage::percentile;
use portcullis_network::{client_settings, create_client};
use std::time::{Duration, Instant};
use ureq::Agent;

/// The looks at each page.
const LOOKS: usize = 5;
/// The time for a page.
const PATIENCE: Duration = Duration::from_secs(60);

/// A person who is signed in.
pub struct SignedIn {
    origin: String,
    cookie: String,
    agent: Agent,
}

impl SignedIn {
    /// Signs in with the link that the hub printed.
    pub fn with_link(hub: &RunningHub) -> Self {
        let (origin, code) = &hub.page;
        let agent = create_client(client_settings().timeout_global(Some(PATIENCE)));
        let answer = agent
            .post(format!("{origin}/sign-in"))
            .header("origin", origin)
            .send_form([("code", code)])
            .unwrap();
        let cookie = answer.headers().get("set-cookie").unwrap().to_str().unwrap();
        let cookie = cookie.split(';').next().unwrap().to_owned();
        Self { origin: origin.clone(), cookie, agent }
    }

    /// Returns the median time of a page, from the second look on.
    pub fn time_page(&self, path: &str) -> Duration {
        let mut times: Vec<Duration> = (0..=LOOKS).map(|_| self.look(path)).collect();
        times.remove(0);
        times.sort_unstable();
        percentile(&times, 50)
    }

    /// Has a page open: the replica looks for changes as long as what this returns lives.
    pub fn open_page(&self) -> impl Sized + use<> {
        let request = self.agent.get(format!("{}/live?of=records", self.origin));
        let answer = request.header("cookie", &self.cookie).call().unwrap();
        assert_eq!(answer.status(), 200);
        answer
    }

    fn look(&self, path: &str) -> Duration {
        let begun = Instant::now();
        let request = self.agent.get(format!("{}{path}", self.origin));
        let mut answer = request.header("cookie", &self.cookie).call().unwrap();
        let text = answer.body_mut().read_to_string().unwrap();
        assert_eq!(answer.status(), 200, "{path}: {text}");
        begun.elapsed()
    }
}
