//! The reports for kernels other than the running one.

use portcullis_run::{Confinement, ConfinementReport, Enforced, Kernel};
use std::path::PathBuf;

#[test]
fn a_report_names_what_a_kernel_cannot_do() {
    let all = Confinement {
        write: Some(vec![PathBuf::from("/tmp")]),
        connect: Some(vec![443]),
        signals: true,
        required: false,
    };
    let one = Kernel { write: true, ..Kernel::default() };
    let four = Kernel { write: true, truncate: true, connect: true, ..Kernel::default() };
    let new = Kernel { write: true, truncate: true, devices: true, connect: true, signals: true };
    // A confinement, a kernel, the missing restrictions.
    let rows = [
        (Confinement::default(), Kernel::default(), None),
        (all.clone(), new, None),
        (
            all.clone(),
            four,
            Some(
                "commands to devices outside the named folders, signals to processes that it did not start, abstract sockets of others",
            ),
        ),
        (
            Confinement { write: None, connect: None, ..all.clone() },
            one,
            Some("signals to processes that it did not start, abstract sockets of others"),
        ),
        (
            Confinement { write: None, signals: false, ..all.clone() },
            one,
            Some("TCP connections to other ports"),
        ),
    ];
    for (confinement, kernel, missing) in rows {
        let report = ConfinementReport::on_kernel(&confinement, kernel);
        assert_eq!(report.missing().as_deref(), missing, "{confinement:?} on {kernel:?}");
        assert!(
            report.rows.iter().any(|row| row.1 == Enforced::Never),
            "what no kernel does is always said"
        );
    }
}

#[test]
fn the_running_kernel_is_asked() {
    let asked = Confinement { signals: true, ..Confinement::default() };
    assert_eq!(
        ConfinementReport::of_confinement(&asked).missing().is_none(),
        Kernel::ask_kernel().signals
    );
}
