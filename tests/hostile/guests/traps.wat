;; world: assessor
;; Gives up. It is asked again at the next action, as if nothing had been.
(func (export "portcullis:plugin/assessor@0.1.0#assess") (param i32) (result i32) unreachable)
