;; world: assessor
;; Reads the environment and traps if any of it is visible.
(import "wasi:cli/environment@0.2.0" "get-environment" (func $variables (param i32)))
(func (export "portcullis:plugin/assessor@0.1.0#assess") (param i32) (result i32)
    (call $variables (i32.const 2048))
    (if (i32.load (i32.const 2052)) (then unreachable))
    (i32.const 1024))
