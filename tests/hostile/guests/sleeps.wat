;; world: assessor
;; Asks the host to wake it in a thousand hours, and waits.
(import "wasi:clocks/monotonic-clock@0.2.0" "subscribe-duration" (func $in (param i64) (result i32)))
(import "wasi:io/poll@0.2.0" "[method]pollable.block" (func $block (param i32)))
(func (export "portcullis:plugin/assessor@0.1.0#assess") (param i32) (result i32)
    (call $block (call $in (i64.const 3600000000000000)))
    (i32.const 1024))
