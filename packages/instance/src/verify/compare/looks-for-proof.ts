/**
 * Checks that must find the same state. If a document oscillates between two states on both sides, one check in four
 * finds a given pair of them; this many in a row do so once in 16,000 times.
 */
export const looksForProof = 8;
