/* A clustering that mapdp fitted, in C99: $about
 *
 * Written by mapdp.export_c. Call mapdp_encode on the numbers of a row, then mapdp_assign, mapdp_score$or_learn.
 * Do not compile with -ffast-math: gaps are NaN, and sums keep their rounding errors.
 *
 * The columns of a row, in their order:
$columns
 */
#ifndef MAPDP_MODEL_H
#define MAPDP_MODEL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef $real mapdp_real;

enum {
    MAPDP_COLUMNS = $n_columns,     /* numbers in a row of the table, as mapdp_encode takes them */
    MAPDP_FEATURES = $n_features,   /* numbers in an encoded row */
    MAPDP_CLUSTERS = $n_clusters,   /* clusters of the fitted model */
    MAPDP_CAPACITY = $capacity,     /* clusters that there is room for */
$lengths
    MAPDP_NEW = -1,      /* the row is like no cluster: it would open one */
    MAPDP_FULL = -2,     /* it would open a cluster, and there is no room */
    MAPDP_REFUSED = -3   /* a cell is one that the model gives no density: infinite, not a count, ... */
};

$structs
typedef struct {
$state
} mapdp_state;

/* Make the state that of the fitted model. */
void mapdp_init(mapdp_state *s);

/* Turn the numbers of a row of the table into what the other functions read. A gap is NaN. */
void mapdp_encode(const mapdp_real *raw, mapdp_real *x);

/* Return the most probable cluster of an encoded row, from 0; MAPDP_NEW or MAPDP_REFUSED. */
int mapdp_assign(const mapdp_state *s, const mapdp_real *x);

/* Return the log density of an encoded row, its cluster summed out; NaN where it is refused. */
mapdp_real mapdp_score(const mapdp_state *s, const mapdp_real *x);
$learning
#ifdef __cplusplus
}
#endif

#endif
