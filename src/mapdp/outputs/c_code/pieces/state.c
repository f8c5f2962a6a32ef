/* ---- The state as bytes, lowest first ---- */

static size_t mapdp_put(uint8_t *bytes, size_t at, uint64_t number, int n_bytes)
{
    int i;
    for (i = 0; i < n_bytes; i++)
        bytes[at + (size_t)i] = (uint8_t)(number >> (8 * i) & 0xff);
    return at + (size_t)n_bytes;
}

static uint64_t mapdp_get(const uint8_t *bytes, size_t at, int n_bytes)
{
    uint64_t number = 0;
    int i;
    for (i = n_bytes; i > 0; i--)
        number = number << 8 | bytes[at + (size_t)i - 1];
    return number;
}

/* Return the CRC-32 of bytes, as zip and PNG have it. */
static uint32_t mapdp_checksum(const uint8_t *bytes, size_t n_bytes)
{
    uint32_t sum = 0xffffffffu;
    size_t i;
    int bit;
    for (i = 0; i < n_bytes; i++) {
        sum ^= bytes[i];
        for (bit = 0; bit < 8; bit++)
            sum = sum >> 1 ^ ((sum & 1u) ? 0xedb88320u : 0u);
    }
    return ~sum;
}

size_t mapdp_write(const mapdp_state *s, uint8_t *bytes)
{
    size_t at = 0, i;
    int k, n_taken = 0;
    for (k = 0; k < s->n_chairs; k++)
        n_taken += mapdp_is_taken(s, k);
    at = mapdp_put(bytes, at, 0x5044504du, 4);   /* "MPDP" */
    at = mapdp_put(bytes, at, 1, 1);             /* version of this layout */
    at = mapdp_put(bytes, at, sizeof(mapdp_real), 1);
    at = mapdp_put(bytes, at, (uint64_t)n_taken, 2);
    at = mapdp_put(bytes, at, MAPDP_NUMBERS, 4);
    at = mapdp_put(bytes, at, mapdp_fingerprint, 4);
    for (k = 0; k < s->n_chairs; k++) {
        if (!mapdp_is_taken(s, k))
            continue;
        at = mapdp_put(bytes, at, (uint64_t)k, 4);
        for (i = 0; i < MAPDP_NUMBERS; i++) {
            const mapdp_real number = mapdp_number(&s->chairs[k].sums, i);
            $bits bits;
            memcpy(&bits, &number, sizeof bits);
            at = mapdp_put(bytes, at, bits, sizeof bits);
        }
    }
    return mapdp_put(bytes, at, mapdp_checksum(bytes, at), 4);
}

static void mapdp_get_sums(const uint8_t *bytes, mapdp_sums *sums)
{
    size_t i;
    for (i = 0; i < MAPDP_NUMBERS; i++) {
        const $bits bits = ($bits)mapdp_get(bytes, i * sizeof(mapdp_real), sizeof(mapdp_real));
        mapdp_real number;
        memcpy(&number, &bits, sizeof number);
        mapdp_set_number(sums, i, number);
    }
}

static int mapdp_are_finite(const void *numbers, size_t n_bytes)
{
    size_t i;
    for (i = 0; i < n_bytes / sizeof(mapdp_real); i++) {
        const mapdp_real number = mapdp_number(numbers, i);
        if (!(number - number <= R(0.0)))   /* infinite, or NaN */
            return 0;
    }
    return 1;
}

/* Say whether rows can have left statistics like these. Nobody has counted more than 1e18 of them, and no column
 * has more cells than there are rows, but for rounding. */
static int mapdp_is_sound(const mapdp_sums *sums)
{
    return mapdp_are_finite(sums, sizeof *sums)
           && sums->n > R(0.0) && sums->n > mapdp_discount && sums->n <= R(1e18)
           && ${kind}_is_sound(&sums->$kind, R(1.001) * sums->n)
        ;
}

/* Say whether bytes are a state of this model; the empty chair serves to try its clusters. */
static int mapdp_can_read(mapdp_chair *trial, const uint8_t *bytes, size_t n_bytes)
{
    const size_t one = 4 + MAPDP_NUMBERS * sizeof(mapdp_real);
    size_t n_taken, i;
    uint64_t next = 0;
    if (n_bytes < 20 || mapdp_get(bytes, 0, 4) != 0x5044504du || bytes[4] != 1 || bytes[5] != sizeof(mapdp_real)
        || mapdp_get(bytes, 8, 4) != MAPDP_NUMBERS || mapdp_get(bytes, 12, 4) != mapdp_fingerprint)
        return 0;
    n_taken = (size_t)mapdp_get(bytes, 6, 2);
    if (n_taken > MAPDP_CAPACITY || n_bytes != 16 + n_taken * one + 4
        || mapdp_get(bytes, n_bytes - 4, 4) != mapdp_checksum(bytes, n_bytes - 4))
        return 0;
    for (i = 0; i < n_taken; i++) {
        const uint64_t k = mapdp_get(bytes, 16 + i * one, 4);   /* these numbers rise */
        if (k < next || k >= MAPDP_CAPACITY)
            return 0;
        next = k + 1;
        mapdp_get_sums(bytes + 20 + i * one, &trial->sums);
        if (!mapdp_is_sound(&trial->sums))
            return 0;
        mapdp_refresh(trial);
        if (!mapdp_are_finite(trial, sizeof *trial))
            return 0;
    }
    return 1;
}

int mapdp_read(mapdp_state *s, const uint8_t *bytes, size_t n_bytes)
{
    mapdp_chair *empty = &s->chairs[MAPDP_EMPTY];
    const mapdp_real log_open = empty->log_join;
    const int can_read = mapdp_can_read(empty, bytes, n_bytes);
    size_t at;
    int k;
    mapdp_clear(&empty->sums);
    mapdp_refresh(empty);
    empty->log_join = log_open;
    if (!can_read)
        return 0;
    s->n_chairs = 0;
    s->merged = s->merged_into = -1;
    for (k = 0; k < MAPDP_CAPACITY; k++)
        mapdp_clear(&s->chairs[k].sums);
    for (at = 16; at + 4 < n_bytes; at += 4 + MAPDP_NUMBERS * sizeof(mapdp_real)) {
        k = (int)mapdp_get(bytes, at, 4);
        mapdp_get_sums(bytes + at + 4, &s->chairs[k].sums);
        mapdp_refresh(&s->chairs[k]);
        s->n_chairs = k + 1;
    }
    mapdp_weigh(s);
    return 1;
}
