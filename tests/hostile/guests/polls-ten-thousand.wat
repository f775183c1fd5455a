;; world: assessor
;; Waits for 10,000 things at once, none of which would happen within a thousand hours.
(import "wasi:clocks/monotonic-clock@0.2.0" "subscribe-duration" (func $in (param i64) (result i32)))
(import "wasi:io/poll@0.2.0" "poll" (func $poll (param i32 i32 i32)))
(func (export "portcullis:plugin/assessor@0.1.0#assess") (param i32) (result i32)
    (local $i i32) (local $handle i32)
    (drop (memory.grow (i32.const 4)))
    (local.set $handle (call $in (i64.const 3600000000000000)))
    (loop $more
        (i32.store (i32.add (i32.const 131072) (i32.mul (local.get $i) (i32.const 4))) (local.get $handle))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br_if $more (i32.lt_u (local.get $i) (i32.const 10000))))
    (call $poll (i32.const 131072) (i32.const 10000) (i32.const 2048))
    (i32.const 1024))
