;; world: assessor
;; Sixty-four texts of a megabyte, all of them the same bytes.
(func (export "portcullis:plugin/assessor@0.1.0#assess") (param i32) (result i32)
    (local $i i32)
    (drop (memory.grow (i32.const 32)))
    (i32.store8 (i32.const 1044) (i32.const 1))
    (i32.store (i32.const 1064) (i32.const 4096))
    (i32.store (i32.const 1068) (i32.const 64))
    (loop $more
        (i32.store (i32.add (i32.const 4096) (i32.mul (local.get $i) (i32.const 8))) (i32.const 65536))
        (i32.store (i32.add (i32.const 4100) (i32.mul (local.get $i) (i32.const 8))) (i32.const 1048576))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br_if $more (i32.lt_u (local.get $i) (i32.const 64))))
    (i32.const 1024))
