;; world: assessor
;; Writes lines of 60,000 bytes that are shown eight times as long.
(import "portcullis:plugin/host@0.1.0" "log" (func $log (param i32 i32 i32)))
(func (export "portcullis:plugin/assessor@0.1.0#assess") (param i32) (result i32)
    (memory.fill (i32.const 0) (i32.const 27) (i32.const 60000))
    (loop (call $log (i32.const 0) (i32.const 0) (i32.const 60000)) (br 0)) unreachable)
