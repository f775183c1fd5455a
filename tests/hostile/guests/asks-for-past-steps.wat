;; world: assessor
;; Makes the host look up past steps, which do not exist, in a loop.
(import "portcullis:plugin/host@0.1.0" "detail" (func $detail (param i64 i32)))
(func (export "portcullis:plugin/assessor@0.1.0#assess") (param i32) (result i32)
    (loop (call $detail (i64.const 1) (i32.const 2048)) (br 0)) unreachable)
