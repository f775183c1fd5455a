;; world: assessor
;; Writes one short line after the other.
(import "portcullis:plugin/host@0.1.0" "log" (func $log (param i32 i32 i32)))
(func (export "portcullis:plugin/assessor@0.1.0#assess") (param i32) (result i32)

    (loop (call $log (i32.const 0) (i32.const 0) (i32.const 8)) (br 0)) unreachable)
