;; world: assessor
;; Traps. It is called again for the next action, as if nothing had happened.
(func (export "portcullis:plugin/assessor@0.1.0#assess") (param i32) (result i32) unreachable)
