;; world: assessor
;; Claims that it prepared 100 bytes, at an address outside its memory.
(func (export "portcullis:plugin/assessor@0.1.0#prepare") (param i32 i32) (result i32)
    (i32.store (i32.const 1028) (i32.const -16))
    (i32.store (i32.const 1032) (i32.const 100))
    (i32.const 1024))
