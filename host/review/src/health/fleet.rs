//! The orders of the machine's fleet, if it takes any.

use super::finding::{Check, HealthFinding};
use portcullis_core::text::one_line;
use portcullis_fleet::FleetFiles;
use portcullis_fleet::orders::AfterExpiry;
use portcullis_store::Home;

/// Orders that expire within this time have to be replaced, in milliseconds.
const SOON: u64 = 7 * 24 * 60 * 60 * 1000;

/// Checks the orders at `now`, in milliseconds since 1970; returns nothing for a machine that takes
/// none, as is usual. Orders that were changed or removed make the configuration unusable, which is
/// reported there.
pub(super) fn check_orders(home: &Home, now: u64) -> Vec<HealthFinding> {
    let files = FleetFiles::of_home(home);
    let mut findings = Vec::new();
    if let Ok(Some(refused)) = files.orders().read_refused() {
        let what = format!("orders from the hub were refused: {}", one_line(&refused.reason, 400));
        let fix = "ask the operator of the hub; `portcullis fleet status` shows what is in force";
        findings.push(HealthFinding::problem(Check::Orders, what, fix));
    }
    let Ok(Some(held)) = files.read_orders(now) else { return findings };
    let (version, end) =
        (held.orders.version, portcullis_config::clock::format_utc(held.orders.expires_at));
    let after = match held.orders.after_expiry {
        AfterExpiry::Keep => "they stay in force",
        AfterExpiry::Own => "this machine's own configuration holds",
        AfterExpiry::Block => "every action is refused",
    };
    let fix = "the operator of the fleet has to publish newer ones; `portcullis fleet status` shows \
               whether the hub answers";
    findings.push(if held.is_expired {
        let what = format!("version {version} expired {end} UTC: {after}");
        HealthFinding::problem(Check::Orders, what, fix)
    } else if now.saturating_add(SOON) >= held.orders.expires_at {
        let what = format!("version {version} expires {end} UTC; after that, {after}");
        HealthFinding::warning(Check::Orders, what, fix)
    } else {
        HealthFinding::ok(Check::Orders, format!("version {version} is in force until {end} UTC"))
    });
    findings
}
