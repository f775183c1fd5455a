//! Has the agent stop, look back at what was asked for, and say what it will do.
//!
//! The host has decided already that an answer is due; this one words it.

use portcullis_plugin::intervention::*;

/// The plugin.
pub struct Plugin;

impl Intervention for Plugin {
    const DESCRIPTOR: Descriptor = Descriptor::new(
        env!("CARGO_PKG_NAME"),
        env!("CARGO_PKG_VERSION"),
        "Has the agent stop, look back at what was asked for, and say what it will do.",
    )
    .reads(&[Reads::Issue, Reads::Context]);

    fn intervene(
        _: &[u8],
        issue: &Issue,
        _: &Situation,
        context: &Context,
    ) -> Result<Response, Error> {
        let guidance = Guidance::saying(format!(
            "{}. Stop here, and say in a sentence what you will do next and why.",
            issue.summary
        ));
        let request = context.goals.iter().min_by_key(|goal| goal.priority);
        Ok(match request {
            Some(goal) => guidance.emphasising("original request", goal.text.as_str()),
            None => guidance,
        }
        .into())
    }
}

portcullis_plugin::export!(intervention: Plugin);

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_plugin::testing::{self, BuildContext};

    #[test]
    fn the_request_is_recalled() {
        let issue =
            testing::issue("loop", Severity::Medium, "the same two commands follow each other");
        let context = testing::context().goal("fix the build");
        let Ok(Response::Guide(guidance)) =
            Plugin::intervene(&[], &issue, &testing::situation(), &context)
        else {
            panic!("no guidance");
        };
        assert!(
            guidance.messages[0].starts_with("the same two commands follow each other. Stop here")
        );
        assert_eq!(guidance.background[0].text, "fix the build");
    }
}
