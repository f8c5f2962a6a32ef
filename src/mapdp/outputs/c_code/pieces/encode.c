/* ---- The table's encoding: units, logarithms, levels, and numbers measured from the prior mean ---- */

