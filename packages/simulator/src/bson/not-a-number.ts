import { Double } from 'bson';

/**
 * A NaN whose bits differ from JavaScript's own (x86 processors produce a negative one). Keeps its bits, so that
 * documents are stored unchanged.
 */
export class NotANumber extends Double {
  /** @param bits the eight bytes as they stand in BSON, little-endian */
  constructor(readonly bits: Uint8Array) {
    super(Number.NaN);
  }
}

/** The bytes JavaScript writes for NaN. */
export const canonicalNaN: Uint8Array = Uint8Array.of(0, 0, 0, 0, 0, 0, 0xf8, 0x7f);
