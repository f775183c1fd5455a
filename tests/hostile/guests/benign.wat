;; world: assessor
;; Finds nothing. Its hook's cost is the baseline for every other guest's.
