/**
 * Looks that have to find the same. A document that goes back and forth between two states on both sides is found in one pair of them
 * by a fourth of all looks: by so many in a row, once in 16,000 times.
 */
export const looksForProof = 8;
