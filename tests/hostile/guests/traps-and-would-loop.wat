;; world: assessor
;; Traps the first time, and would loop for ever if any of its functions were entered again.
(global $entered (mut i32) (i32.const 0))
(func $enter
    (if (global.get $entered) (then (loop (br 0)))))
(func (export "portcullis:plugin/assessor@0.1.0#assess") (param i32) (result i32)
    (call $enter)
    (global.set $entered (i32.const 1))
    unreachable)
(func (export "cabi_post_portcullis:plugin/assessor@0.1.0#assess") (param i32) (call $enter))
