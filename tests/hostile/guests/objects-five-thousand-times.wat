;; world: assessor
;; Five thousand rulings.
(func (export "portcullis:plugin/assessor@0.1.0#assess") (param i32) (result i32)
    (local $i i32)
    (drop (memory.grow (i32.const 8)))
    (i32.store (i32.const 1092) (i32.const 65536))
    (i32.store (i32.const 1096) (i32.const 5000))
    (loop $more
        (i32.store8 offset=8 (i32.add (i32.const 65536) (i32.mul (local.get $i) (i32.const 56))) (i32.const 0))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br_if $more (i32.lt_u (local.get $i) (i32.const 5000))))
    (i32.const 1024))
