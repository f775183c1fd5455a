//! Fleets: a real PostgreSQL, two replicas of the real hub behind a balancer, and homes with real
//! journals. Nothing that was acknowledged is lost, nothing is counted twice, and what no honest
//! journal does is an incident.
//!
//! PostgreSQL is Debian's (`apt-get install postgresql`); without it these tests fail. One cluster
//! serves all of them, each with databases of its own.

#![allow(
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a program of tests"
)]

#[path = "fleet/approvals.rs"]
mod approvals;
#[path = "fleet/attacks.rs"]
mod attacks;
#[path = "../../host/registry/tests/all/authority.rs"]
#[allow(dead_code, reason = "one registry is enough here")]
mod authority;
#[path = "fleet/balancer.rs"]
mod balancer;
#[path = "fleet/browsers.rs"]
mod browsers;
#[path = "fleet/cluster.rs"]
mod cluster;
mod common;
#[path = "fleet/days.rs"]
mod days;
#[path = "fleet/dev.rs"]
mod dev;
#[path = "fleet/encrypted.rs"]
mod encrypted;
#[path = "fleet/examples.rs"]
mod examples;
#[path = "fleet/fleets.rs"]
mod fleets;
#[path = "fleet/growth.rs"]
mod growth;
#[path = "fleet/hardship.rs"]
mod hardship;
#[path = "page/http.rs"]
mod http;
#[path = "fleet/incidents.rs"]
mod incidents;
#[path = "fleet/intruders.rs"]
mod intruders;
#[path = "fleet/joining.rs"]
mod joining;
#[path = "../locked/machine.rs"]
#[allow(dead_code, reason = "one bundle is enough here")]
mod machine;
#[path = "fleet/managed.rs"]
mod managed;
#[path = "fleet/orders.rs"]
mod orders;
#[path = "fleet/pages.rs"]
mod pages;
#[path = "fleet/passkeys.rs"]
mod passkeys;
#[path = "fleet/people.rs"]
mod people;
#[path = "fleet/providers.rs"]
mod providers;
#[path = "../../host/registry/tests/all/real.rs"]
#[allow(dead_code, reason = "one registry is enough here")]
mod real;
#[path = "fleet/rollouts.rs"]
mod rollouts;
#[path = "../locked/sample.rs"]
mod sample;
#[path = "fleet/secrets.rs"]
mod secrets;
#[path = "fleet/sending.rs"]
mod sending;
#[path = "fleet/tour.rs"]
mod tour;
#[path = "fleet/upkeep.rs"]
mod upkeep;
#[path = "fleet/visits.rs"]
mod visits;
#[path = "fleet/wire.rs"]
mod wire;

use common::trial;
use std::process::ExitCode;

fn main() -> ExitCode {
    let code = common::run(vec![
        trial("fleet: a token admits as it says, and no other one does", joining::tokens),
        trial("fleet: a certificate is renewed, and the old one ends", joining::renewed),
        trial("fleet: a machine leaves, and its hub takes nothing more", joining::left),
        trial("fleet: the hub has the journal, record by record", sending::whole),
        trial("fleet: each level of detail sends its part", sending::levels),
        trial("fleet: records wait for the hub, and outlive their retention", sending::held),
        trial("fleet: a lost cursor is found again", sending::cursor_lost),
        trial("fleet: batches may be cut, repeated and late", sending::batches),
        trial("fleet: replicas and the database die under load", sending::killed),
        trial("fleet: the database's disk is full", hardship::full_disk),
        trial("fleet: fifty services at once", hardship::many_services),
        trial("fleet: a backlog of 20,000 records arrives", sending::backlog),
        trial("fleet: what no honest journal does is an incident", incidents::of_homes),
        trial("fleet: what no honest machine sends is an incident", incidents::of_batches),
        trial("fleet: attackers get nothing", attacks::doors),
        trial("fleet: a body without bounds is cut off", attacks::bodies),
        trial("fleet: what a machine says stays text", attacks::texts),
        trial("fleet: a database of an older version is brought to this one", growth::migrated),
        trial("fleet: the pages read from a standby that is near", growth::standby),
        trial("fleet: the database's certificate is verified", encrypted::database),
        trial("fleet: retention drops whole days, and no head", upkeep::retention),
        trial("fleet: the records of a day become a file in columns", days::exported),
        trial("fleet: a day has the hours of UTC", days::hours),
        trial("fleet: the secrets of a hub are in its own store", secrets::stored),
        trial("fleet: a person settles an incident", upkeep::settled),
        trial("fleet: a machine has a bound of open incidents", upkeep::bounded),
        trial("fleet: orders arrive and hold", orders::arrive),
        trial("fleet: a hub that was taken over orders nothing", orders::attacks),
        trial("fleet: orders say what holds after their end", orders::expire),
        trial("fleet: nothing runs without the orders that were taken", orders::tampered),
        trial("fleet: orders reach the share of the machines that is named", orders::shares),
        trial("fleet: machines try orders that do not count", rollouts::tried),
        trial("fleet: a rollout goes on and stops by itself", rollouts::stopped),
        trial("fleet: reports of machines that try orders have bounds", rollouts::reports),
        trial("fleet: approvers answer for a machine, with their keys", approvals::answered),
        trial("fleet: the approvers of the page are ones", approvals::example),
        trial("fleet: nobody else answers for a machine", approvals::attacks),
        trial("fleet: questions go on to the next role", approvals::escalated),
        trial("fleet: a passkey answers on the hub's page", passkeys::answered),
        trial("fleet: a passkey is enrolled by its own person", passkeys::enrolled),
        trial("fleet: nobody answers with somebody else's passkey", passkeys::attacks),
        trial("fleet: orders lock bundles and revoke them", orders::bundles),
        trial("fleet: a revoked machine gets no orders", orders::revoked),
        trial("fleet: people sign in with one link, at any replica", people::sign_in),
        trial("fleet: the acts of operators are in the audit", people::operators),
        trial("fleet: an operator changes people on the page", managed::people),
        trial("fleet: people judge reviews, and try what they propose", managed::feedback),
        trial("fleet: a webhook gets each message at least once", managed::webhooks),
        trial("fleet: the audit shows what was changed in it", people::audit),
        trial("fleet: people see machines, sessions and steps", pages::machines),
        trial("fleet: a machine reports its own protection within bounds", pages::protection),
        trial("fleet: a search finds what it says", pages::search),
        trial("fleet: pages follow each other, by an index", pages::paging),
        trial("fleet: what many machines met is a finding", pages::findings),
        trial("fleet: an operator settles an incident on the page", pages::settle),
        trial("fleet: a page that others could read is not served", pages::configured),
        trial("fleet: the page answers under its own name alone", intruders::doors),
        trial("fleet: strangers see nothing of the page", intruders::strangers),
        trial("fleet: a role may do what it says, and no more", intruders::roles),
        trial("fleet: a machine's certificate opens no page", intruders::certificates),
        trial("fleet: texts of machines stay text on the page", intruders::texts),
        trial("fleet: a provider signs in whom the configuration admits", providers::admits),
        trial("fleet: an answer of a provider counts for its own sign-in", providers::attacks),
        trial("fleet: the pages work with the keyboard", browsers::keyboard),
        trial("fleet: the pages work without scripts", browsers::scriptless),
        trial("fleet: a browser comes back from a provider", browsers::provider),
        trial("fleet: the pages follow what happens", browsers::live),
        trial("fleet: everybody can read the pages", browsers::readable),
        trial("fleet: systemd takes the unit of the page", examples::unit),
        trial("fleet: the commands of the compose file are the program's", examples::compose),
        trial("fleet: from nothing to two machines with a vetted bundle", tour::script),
        trial("fleet: the commands of that page are the script's", tour::page),
        trial("fleet: the tests of the page's attacks are there", tour::attacks),
        trial("fleet: a newer database is left alone", dev::newer_database),
        trial("fleet: one command serves a hub for trying it out", dev::trial_hub),
    ]);
    cluster::stop();
    code
}
