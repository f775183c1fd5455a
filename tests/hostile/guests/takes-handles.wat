;; world: assessor
;; Asks 200,000 times for its standard output and gives none back.
(import "wasi:cli/stdout@0.2.0" "get-stdout" (func $take (result i32)))
(func (export "portcullis:plugin/assessor@0.1.0#assess") (param i32) (result i32)
    (local $taken i32)
    (loop $more
        (drop (call $take))
        (local.set $taken (i32.add (local.get $taken) (i32.const 1)))
        (br_if $more (i32.lt_u (local.get $taken) (i32.const 200000))))
    (i32.const 1024))
