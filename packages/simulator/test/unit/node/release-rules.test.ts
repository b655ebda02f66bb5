import { describe, expect, it } from 'vitest';
import type { Doc, Value } from '../../../src/bson/value.js';
import { internalRequest } from '../../../src/node/internal-request.js';
import { hasCommand, nameCodes, refuseForeignFields } from '../../../src/node/release-rules.js';
import { type ReleaseSeries, releaseSeries, ServerVersion } from '../../../src/node/server-version.js';

function refusal(series: ReleaseSeries, body: [string, Value][]): unknown {
  try {
    refuseForeignFields(
      { binary: ServerVersion.parse(series), features: ServerVersion.parse(series) },
      internalRequest('db', new Map(body)),
    );
  } catch (error) {
    return error;
  }
  return undefined;
}

function since(name: string): ReleaseSeries | undefined {
  return releaseSeries.find((series) => hasCommand(ServerVersion.parse(series), name));
}

describe('what a release knows', () => {
  it.each([
    ['find', '4.4'],
    ['reshardCollection', '5.0'],
    ['setUserWriteBlockMode', '6.0'],
    ['moveRange', '6.0'],
    ['analyzeShardKey', '7.0'],
    ['bulkWrite', '8.0'],
  ] as const)('%s since %s', (command, first) => {
    expect(since(command)).toBe(first);
  });

  it.each([
    [
      '4.4',
      [
        ['update', 'c'],
        ['let', new Map()],
      ],
      { code: 40415, message: "BSON field 'update.let' is an unknown field." },
    ],
    [
      '4.4',
      [
        ['find', 'c'],
        ['let', new Map()],
      ],
      { code: 9 },
    ],
    [
      '5.0',
      [
        ['find', 'c'],
        ['let', new Map()],
      ],
      undefined,
    ],
    [
      '6.0',
      [
        ['insert', 'c'],
        ['bypassEmptyTsReplacement', true],
      ],
      { code: 40415 },
    ],
    [
      '7.0',
      [
        ['insert', 'c'],
        ['bypassEmptyTsReplacement', true],
      ],
      undefined,
    ],
    [
      '6.0',
      [
        ['configureCollectionBalancing', 'd.c'],
        ['enableAutoMerger', true],
      ],
      { code: 40415 },
    ],
  ] as [ReleaseSeries, [string, Value][], object | undefined][])(
    'fields of commands in %s: %j',
    (series, body, expected) => {
      if (expected === undefined) expect(refusal(series, body)).toBeUndefined();
      else expect(refusal(series, body)).toMatchObject(expected);
    },
  );

  it.each(['apiVersion', 'apiStrict', 'apiDeprecationErrors'])('refuses %s by name', (name) => {
    expect(
      refusal('5.0', [
        ['insert', 'c'],
        [name, '1'],
      ]),
    ).toMatchObject({
      code: 115,
      message: `${name} is not part of this simulation`,
    });
  });

  it.each([
    ['6.0', 'Location40415'],
    ['7.0', 'IDLUnknownField'],
  ] as const)('names the code of unknown fields in %s: %s', (series, name) => {
    const reply: Doc = new Map<string, Value>([['codeName', 'Location40415']]);
    nameCodes(ServerVersion.parse(series), reply);
    expect(reply.get('codeName')).toBe(name);
  });
});
