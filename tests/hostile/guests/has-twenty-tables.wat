;; world: assessor
;; Many small tables.
(table 1 funcref) (table 1 funcref) (table 1 funcref) (table 1 funcref) (table 1 funcref) (table 1 funcref) (table 1 funcref) (table 1 funcref) (table 1 funcref) (table 1 funcref) (table 1 funcref) (table 1 funcref) (table 1 funcref) (table 1 funcref) (table 1 funcref) (table 1 funcref) (table 1 funcref) (table 1 funcref) (table 1 funcref) (table 1 funcref)
