;; world: assessor
;; One instruction that fills all the memory it may have: nothing can stop it half way.
(func (export "portcullis:plugin/assessor@0.1.0#assess") (param i32) (result i32)
    (drop (memory.grow (i32.const 1000)))
    (memory.fill (i32.const 0) (i32.const 1) (i32.mul (memory.size) (i32.const 65536)))
    unreachable)
