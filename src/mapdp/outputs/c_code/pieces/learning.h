
/* Seat an encoded row where its score is best, for good, and return its cluster. A row that is like no
 * cluster opens one. $full
 * Returns MAPDP_REFUSED, and learns nothing, where mapdp_assign would$gaps_refused. */
int mapdp_learn(mapdp_state *s, const mapdp_real *x);

/* Let every cluster forget: each counts for `factor` times the rows it did (0 < factor <= 1). A cluster
 * with next to nothing left gives up its number. Returns how many clusters there are. */
int mapdp_forget(mapdp_state *s, mapdp_real factor);

/* Write what was learned for mapdp.import_state: at most MAPDP_STATE_BYTES. Returns how many bytes. */
size_t mapdp_write(const mapdp_state *s, uint8_t *bytes);

/* Read what mapdp_write wrote, after a restart; returns 0, and changes nothing, where bytes are not that. */
int mapdp_read(mapdp_state *s, const uint8_t *bytes, size_t n_bytes);

#define MAPDP_STATE_BYTES (16 + MAPDP_CAPACITY * (4 + sizeof(mapdp_sums)) + 4)
