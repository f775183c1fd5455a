;; world: holder
;; Makes 200,000 resources of its own and drops none: the host keeps a list of them.
(import "[export]portcullis:hostile/things" "[resource-new]thing" (func $make (param i32) (result i32)))
(func (export "portcullis:plugin/assessor@0.1.0#assess") (param i32) (result i32)
    (local $made i32)
    (loop $more
        (drop (call $make (local.get $made)))
        (local.set $made (i32.add (local.get $made) (i32.const 1)))
        (br_if $more (i32.lt_u (local.get $made) (i32.const 200000))))
    (i32.const 1024))
