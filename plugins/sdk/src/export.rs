//! The macro that turns a plugin into a component.

/// Exports a plugin from a component and embeds its descriptor in the file.
///
/// Name the world and the type that implements its trait; a component holds one plugin. (A
/// component that ships with a host may hold several: [`several`](crate::several).) Outside wasm it
/// only checks the descriptor's name, so that the crate builds and tests natively.
///
/// ```
/// use portcullis_plugin::risk_calculator::*;
///
/// struct Silent;
/// impl RiskCalculator for Silent {
///     const DESCRIPTOR: Descriptor = Descriptor::new("silent", "0.1.0", "Says nothing.");
///     fn assess(_: &[u8], _: &Action, _: &Context) -> Result<Assessment, Error> {
///         Ok(Assessment::nothing())
///     }
/// }
/// portcullis_plugin::export!(risk-calculator: Silent);
/// ```
///
/// A name that is not valid in a configuration does not compile:
///
/// ```compile_fail
/// # use portcullis_plugin::risk_calculator::*;
/// # struct Silent;
/// # impl RiskCalculator for Silent {
/// const DESCRIPTOR: Descriptor = Descriptor::new("Silent Plugin", "0.1.0", "Says nothing.");
/// #     fn assess(_: &[u8], _: &Action, _: &Context) -> Result<Assessment, Error> {
/// #         Ok(Assessment::nothing())
/// #     }
/// # }
/// portcullis_plugin::export!(risk-calculator: Silent);
/// ```
#[macro_export]
macro_rules! export {
    (pattern: [$($plugin:ty),+ $(,)?]) => {
        $crate::export!(@several [$($plugin),+], $crate::pattern::Pattern, detect, fn(
            &[u8], &[u8], &$crate::history::History, &$crate::types::Action, &$crate::types::Context,
        ) -> ::core::result::Result<$crate::pattern::Report, $crate::types::Error>, "pattern", pattern, export_pattern, detector, {
            fn detect(
                prepared: ::std::vec::Vec<u8>,
                state: ::std::vec::Vec<u8>,
                totals: $crate::types::Totals,
                action: $crate::types::Action,
                context: $crate::types::Context,
            ) -> ::core::result::Result<$crate::pattern::Report, $crate::types::Error> {
                $crate::panics::tell();
                // An instance answers once: freeing what it got, text by text, is work for nobody.
                let (action, context) = (::core::mem::ManuallyDrop::new(action), ::core::mem::ManuallyDrop::new(context));
                let (detect, prepared) = $crate::several::chosen(PLUGINS, &prepared)?;
                detect(prepared, &state, &$crate::history::History::of_host(totals), &action, &context)
            }
        });
    };
    (risk-calculator: [$($plugin:ty),+ $(,)?]) => {
        $crate::export!(@several [$($plugin),+], $crate::risk_calculator::RiskCalculator, assess, fn(
            &[u8], &$crate::types::Action, &$crate::types::Context,
        ) -> ::core::result::Result<$crate::risk_calculator::Assessment, $crate::types::Error>, "risk-calculator", risk_calculator, export_risk_calculator, assessor, {
            fn assess(
                prepared: ::std::vec::Vec<u8>,
                action: $crate::types::Action,
                context: $crate::types::Context,
            ) -> ::core::result::Result<$crate::risk_calculator::Assessment, $crate::types::Error> {
                $crate::panics::tell();
                let (action, context) = (::core::mem::ManuallyDrop::new(action), ::core::mem::ManuallyDrop::new(context));
                let (assess, prepared) = $crate::several::chosen(PLUGINS, &prepared)?;
                assess(prepared, &action, &context)
            }
        });
    };
    (intervention: [$($plugin:ty),+ $(,)?]) => {
        $crate::export!(@several [$($plugin),+], $crate::intervention::Intervention, intervene, fn(
            &[u8], &$crate::intervention::Issue, &$crate::intervention::Situation, &$crate::types::Context,
        ) -> ::core::result::Result<$crate::intervention::Response, $crate::types::Error>, "intervention", intervention, export_intervention, intervener, {
            fn intervene(
                prepared: ::std::vec::Vec<u8>,
                issue: $crate::intervention::Issue,
                situation: $crate::intervention::Situation,
                context: $crate::types::Context,
            ) -> ::core::result::Result<$crate::intervention::Response, $crate::types::Error> {
                $crate::panics::tell();
                let (issue, situation, context) = (::core::mem::ManuallyDrop::new(issue), ::core::mem::ManuallyDrop::new(situation), ::core::mem::ManuallyDrop::new(context));
                let (intervene, prepared) = $crate::several::chosen(PLUGINS, &prepared)?;
                intervene(prepared, &issue, &situation, &context)
            }
        });
    };
    (audit-exporter: [$($plugin:ty),+ $(,)?]) => {
        $crate::export!(@several [$($plugin),+], $crate::audit_exporter::AuditExporter, render, fn(
            &[u8], &[$crate::audit_exporter::AuditRecord], bool,
        ) -> ::core::result::Result<$crate::audit_exporter::Rendered, $crate::types::Error>, "audit-exporter", audit_exporter, export_audit_exporter, exporter, {
            fn render(
                prepared: ::std::vec::Vec<u8>,
                records: ::std::vec::Vec<$crate::audit_exporter::AuditRecord>,
                first: bool,
            ) -> ::core::result::Result<$crate::audit_exporter::Rendered, $crate::types::Error> {
                $crate::panics::tell();
                let (render, prepared) = $crate::several::chosen(PLUGINS, &prepared)?;
                render(prepared, &records, first)
            }
        });
    };
    (risk-calculator: $plugin:ty) => {
        $crate::export!(@component $plugin, $crate::risk_calculator::RiskCalculator, "risk-calculator", risk_calculator, export_risk_calculator, assessor, {
            fn assess(
                prepared: ::std::vec::Vec<u8>,
                action: $crate::types::Action,
                context: $crate::types::Context,
            ) -> ::core::result::Result<$crate::risk_calculator::Assessment, $crate::types::Error> {
                $crate::panics::tell();
                let (action, context) = (::core::mem::ManuallyDrop::new(action), ::core::mem::ManuallyDrop::new(context));
                <$plugin as $crate::risk_calculator::RiskCalculator>::assess(&prepared, &action, &context)
            }
        });
    };
    (pattern: $plugin:ty) => {
        $crate::export!(@component $plugin, $crate::pattern::Pattern, "pattern", pattern, export_pattern, detector, {
            fn detect(
                prepared: ::std::vec::Vec<u8>,
                state: ::std::vec::Vec<u8>,
                totals: $crate::types::Totals,
                action: $crate::types::Action,
                context: $crate::types::Context,
            ) -> ::core::result::Result<$crate::pattern::Report, $crate::types::Error> {
                $crate::panics::tell();
                let (action, context) = (::core::mem::ManuallyDrop::new(action), ::core::mem::ManuallyDrop::new(context));
                <$plugin as $crate::pattern::Pattern>::detect(&prepared, &state, &$crate::history::History::of_host(totals), &action, &context)
            }
        });
    };
    (intervention: $plugin:ty) => {
        $crate::export!(@component $plugin, $crate::intervention::Intervention, "intervention", intervention, export_intervention, intervener, {
            fn intervene(
                prepared: ::std::vec::Vec<u8>,
                issue: $crate::intervention::Issue,
                situation: $crate::intervention::Situation,
                context: $crate::types::Context,
            ) -> ::core::result::Result<$crate::intervention::Response, $crate::types::Error> {
                $crate::panics::tell();
                let (issue, situation, context) = (::core::mem::ManuallyDrop::new(issue), ::core::mem::ManuallyDrop::new(situation), ::core::mem::ManuallyDrop::new(context));
                <$plugin as $crate::intervention::Intervention>::intervene(&prepared, &issue, &situation, &context)
            }
        });
    };
    (audit-exporter: $plugin:ty) => {
        $crate::export!(@component $plugin, $crate::audit_exporter::AuditExporter, "audit-exporter", audit_exporter, export_audit_exporter, exporter, {
            fn render(
                prepared: ::std::vec::Vec<u8>,
                records: ::std::vec::Vec<$crate::audit_exporter::AuditRecord>,
                first: bool,
            ) -> ::core::result::Result<$crate::audit_exporter::Rendered, $crate::types::Error> {
                $crate::panics::tell();
                <$plugin as $crate::audit_exporter::AuditExporter>::render(&prepared, &records, first)
            }
        });
    };
    (@component $plugin:ty, $kind:path, $world:literal, $module:ident, $export:ident, $interface:ident, { $($call:tt)* }) => {
        $crate::export!(@described $plugin, $kind, $world);
        $crate::export!(@guest $module, $export, $interface, {
            fn prepare(settings: ::std::vec::Vec<$crate::types::Setting>) -> ::core::result::Result<::std::vec::Vec<u8>, $crate::types::Error> {
                $crate::panics::tell();
                <$plugin as $kind>::prepare(&settings)
            }

            $($call)*
        });
    };
    (@several [$($plugin:ty),+], $kind:path, $answer:ident, $signature:ty, $world:literal, $module:ident, $export:ident, $interface:ident, { $($call:tt)* }) => {
        $($crate::export!(@described $plugin, $kind, $world);)+
        $crate::export!(@guest $module, $export, $interface, {
            fn prepare(settings: ::std::vec::Vec<$crate::types::Setting>) -> ::core::result::Result<::std::vec::Vec<u8>, $crate::types::Error> {
                $crate::panics::tell();
                $crate::several::prepare(PLUGINS, &settings)
            }

            $($call)*
        }, {
            const PLUGINS: &[$crate::several::Member<$signature>] = &[
                $($crate::several::Member { name: <$plugin as $kind>::DESCRIPTOR.name, prepare: <$plugin as $kind>::prepare, answer: <$plugin as $kind>::$answer }),+
            ];
        });
    };
    (@described $plugin:ty, $kind:path, $world:literal) => {
        const _: () = {
            const PLUGIN: $crate::descriptor::Descriptor = <$plugin as $kind>::DESCRIPTOR;
            const _: () = assert!(
                PLUGIN.is_well_formed(),
                "the plugin's name needs lower-case letters, digits and hyphens, beginning with a \
                 letter; version and description must not be empty"
            );

            #[cfg(target_arch = "wasm32")]
            const _: () = {
                const LENGTH: usize = PLUGIN.json_len($world);
                #[used]
                #[unsafe(link_section = "portcullis-descriptor")]
                static DESCRIPTOR: [u8; LENGTH] = PLUGIN.json::<LENGTH>($world);
            };
        };
    };
    (@guest $module:ident, $export:ident, $interface:ident, { $($function:item)* } $(, { $($known:item)* })?) => {
        #[cfg(target_arch = "wasm32")]
        const _: () = {
            $($($known)*)?

            struct Component;

            impl $crate::bindings::$module::exports::portcullis::plugin::$interface::Guest for Component {
                $($function)*
            }

            $crate::bindings::$module::$export!(Component with_types_in $crate::bindings::$module);
        };
    };
}
