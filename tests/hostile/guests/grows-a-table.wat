;; world: assessor
;; Takes the host's memory by way of a table.
(table $all 1 funcref)
(func (export "portcullis:plugin/assessor@0.1.0#assess") (param i32) (result i32)
    (loop $more (br_if $more (i32.ne (table.grow $all (ref.null func) (i32.const 1000)) (i32.const -1))))
    unreachable)
