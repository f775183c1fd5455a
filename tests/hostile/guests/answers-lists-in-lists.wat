;; world: assessor
;; Sixty-four rulings with the same 64 alternatives, each of them the same 4 KiB: 16 MiB out of 8 KiB.
(func (export "portcullis:plugin/assessor@0.1.0#assess") (param i32) (result i32)
    (local $i i32) (local $at i32)
    (drop (memory.grow (i32.const 4)))
    (i32.store (i32.const 1092) (i32.const 65536))
    (i32.store (i32.const 1096) (i32.const 64))
    (memory.fill (i32.const 131072) (i32.const 97) (i32.const 4096))
    (loop $more
        (local.set $at (i32.add (i32.const 65536) (i32.mul (local.get $i) (i32.const 56))))
        (i32.store8 offset=8 (local.get $at) (i32.const 1))
        (i32.store offset=28 (local.get $at) (i32.const 98304))
        (i32.store offset=32 (local.get $at) (i32.const 64))
        (local.set $at (i32.add (i32.const 98304) (i32.mul (local.get $i) (i32.const 8))))
        (i32.store (local.get $at) (i32.const 131072))
        (i32.store offset=4 (local.get $at) (i32.const 4096))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br_if $more (i32.lt_u (local.get $i) (i32.const 64))))
    (i32.const 1024))
