import { Binary } from 'bson';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeDocument } from '../../../src/bson/encode.js';
import { CommandError } from '../../../src/node/command.js';
import type { Doc } from '../../../src/bson/value.js';
import { checkDocument } from '../../../src/wire/document-check.js';
import { document as arbitraryDocument } from '../bson/arbitrary-value.js';

describe('the check of documents', () => {
  it('property: takes what the encoder writes', () => {
    fc.assert(
      fc.property(arbitraryDocument, (document) => {
        const bytes = encodeDocument(document);
        expect(checkDocument(bytes)).toBe(bytes.length);
      }),
    );
  });

  it('property: ends with the length or an error, whatever is changed', () => {
    fc.assert(
      fc.property(arbitraryDocument, fc.nat(), fc.integer({ min: 0, max: 255 }), (document, at, byte) => {
        const bytes = encodeDocument(document);
        bytes[at % bytes.length] = byte;
        try {
          expect(checkDocument(bytes)).toBeLessThanOrEqual(bytes.length);
        } catch (error) {
          expect(error).toBeInstanceOf(CommandError);
        }
      }),
      { numRuns: 1000 },
    );
  });

  it('refuses what is nested deeper than 200 levels', () => {
    const nested = (levels: number): Doc =>
      levels === 1 ? new Map<string, Doc>() : new Map([['a', nested(levels - 1)]]);
    expect(() => checkDocument(encodeDocument(nested(200)))).not.toThrow();
    expect(() => checkDocument(encodeDocument(nested(201)))).toThrow(expect.objectContaining({ code: 15 }));
  });

  it('refuses what is larger than 16 MB and 16 KB', () => {
    const sized = (bytes: number): Uint8Array =>
      encodeDocument(new Map([['a', new Binary(new Uint8Array(bytes - 13))]]));
    const largest = 16 * 2 ** 20 + 16 * 2 ** 10;
    expect(checkDocument(sized(largest))).toBe(largest);
    expect(() => checkDocument(sized(largest + 1))).toThrow(expect.objectContaining({ code: 10_334 }));
  });
});
