import { Binary, Double, Long, Timestamp } from 'bson';
import { describe, expect, it } from 'vitest';
import { toExtendedJson } from '../../extended-json.js';
import {
  decodeResumeToken,
  encodeResumeToken,
  highWaterToken,
  resumeTokenDocument,
} from '../../../src/bson/resume-token.js';
import { wholeCorpus } from '../corpus.js';

const recorded = [...new Set([...wholeCorpus().matchAll(/"_data":"(82[0-9A-F]+)"/g)].map((match) => match[1] ?? ''))];

describe('resume tokens of the corpus', () => {
  it('are there', () => {
    expect(recorded.length).toBeGreaterThan(370);
  });

  it('come back byte for byte after decoding', () => {
    for (const token of recorded) expect(encodeResumeToken(decodeResumeToken(token))).toBe(token);
  });

  it('name collection and document', () => {
    const token = decodeResumeToken(
      '826B0160080000031D2B022C0100296E5A10045F8499CB18E14240B4571E39047C4B83461E736B0027FD1E5F6964002B020004',
    );
    expect(token.clusterTime).toEqual(new Timestamp({ t: 0x6b016008, i: 0x31d }));
    expect(token.tokenType).toBe('event');
    expect(token.uuid?.toString('hex')).toBe('5f8499cb18e14240b4571e39047c4b83');
    expect(toExtendedJson(token.eventIdentifier as Map<string, never>)).toEqual({
      sk: { $numberInt: '-1' },
      _id: { $numberInt: '1' },
    });
  });
});

it('writes the token of an empty batch', () => {
  expect(encodeResumeToken(highWaterToken(new Timestamp({ t: 1, i: 2 })))).toBe('8200000001000000022B0229296E04');
});

it('adds type bits only for numbers that are not ints', () => {
  const uuid = new Binary(Buffer.alloc(16), 4);
  const token = { ...highWaterToken(new Timestamp({ t: 1, i: 2 })), tokenType: 'event', uuid } as const;
  expect(resumeTokenDocument({ ...token, eventIdentifier: new Map([['_id', 'a']]) }).has('_typeBits')).toBe(false);
  const long = resumeTokenDocument({ ...token, eventIdentifier: new Map([['_id', Long.fromNumber(5)]]) });
  expect((long.get('_typeBits') as Binary).toString('hex')).toBe('40');
  const double = resumeTokenDocument({ ...token, eventIdentifier: new Map([['_id', new Double(5)]]) });
  expect((double.get('_typeBits') as Binary).toString('hex')).toBe('8180');
});

it('refuses what is no token', () => {
  expect(() => decodeResumeToken('8')).toThrow('hex');
  expect(() => decodeResumeToken('82000000')).toThrow('KeyString');
});
