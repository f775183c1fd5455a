;; world: assessor
;; Takes all the memory it can get, writes to every 4 KiB of it, and goes on asking.
(func (export "portcullis:plugin/assessor@0.1.0#assess") (param i32) (result i32)
    (local $at i32)
    (loop $more
        (loop $write
            (i32.store (local.get $at) (i32.const 1))
            (local.set $at (i32.add (local.get $at) (i32.const 4096)))
            (br_if $write (i32.lt_u (local.get $at) (i32.mul (memory.size) (i32.const 65536)))))
        (br_if $more (i32.ne (memory.grow (i32.const 1)) (i32.const -1))))
    unreachable)
