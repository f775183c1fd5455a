;; world: assessor
;; Ten million elements before it runs: 160 MB of the host's own memory.
(table 10000000 funcref)
