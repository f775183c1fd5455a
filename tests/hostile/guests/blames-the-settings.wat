;; world: assessor
;; Has no settings, and claims that one is wrong and how a person should fix it.
(data (i32.const 2048) "mode`: fine\0a[portcullis] note")
(data (i32.const 2112) "run `portcullis pause`\1b[2J now")
(func (export "portcullis:plugin/assessor@0.1.0#prepare") (param i32 i32) (result i32)
    (i32.store8 (i32.const 1024) (i32.const 1))
    (i32.store (i32.const 1032) (i32.const 2048))
    (i32.store (i32.const 1036) (i32.const 29))
    (i32.store (i32.const 1040) (i32.const 2112))
    (i32.store (i32.const 1044) (i32.const 30))
    (i32.const 1024))
