;; world: assessor
;; Never answers.
(func (export "portcullis:plugin/assessor@0.1.0#assess") (param i32) (result i32) (loop (br 0)) unreachable)
