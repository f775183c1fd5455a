;; world: assessor
;; A list of 4,000,000 texts that the guest really has; each costs the host more than the guest.
(func (export "portcullis:plugin/assessor@0.1.0#assess") (param i32) (result i32)
    (drop (memory.grow (i32.const 600)))
    (i32.store8 (i32.const 1044) (i32.const 1))
    (i32.store (i32.const 1064) (i32.const 65536))
    (i32.store (i32.const 1068) (i32.const 4000000))
    (i32.const 1024))
