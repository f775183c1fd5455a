;; Decodes the digits of a text into the bytes of its answer, writes them at 1 MiB of its memory, and answers with
;; them unchecked.
(func $digit (param $sign i32) (result i32)
    (i32.sub (local.get $sign) (select (i32.const 48) (i32.const 87) (i32.lt_u (local.get $sign) (i32.const 58)))))
(func $answer (param $text i32) (param $length i32) (result i32)
    (local $at i32) (local $sign i32)
    (block $done
        (loop $next
            (br_if $done (i32.ge_u (local.get $at) (local.get $length)))
            (local.set $sign (i32.add (local.get $text) (local.get $at)))
            (i32.store8 (i32.add (i32.const 0x100000) (i32.shr_u (local.get $at) (i32.const 1)))
                (i32.or
                    (i32.shl (call $digit (i32.load8_u (local.get $sign))) (i32.const 4))
                    (call $digit (i32.load8_u offset=1 (local.get $sign)))))
            (local.set $at (i32.add (local.get $at) (i32.const 2)))
            (br $next)))
    (i32.const 0x100000))
(memory (export "memory") 32)
