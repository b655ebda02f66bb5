import { describe, expect, it } from 'vitest';
import { parseStartRequest } from '@convoy/api/contract/parse-start-request';
import { clusters, expectInvalid, failureOf } from './failures.js';
import { buildIndexesValues } from '../../../src/contract/start-request.js';

describe('required fields', () => {
  it('needs source and destination', () => {
    const error = failureOf(() => parseStartRequest({}));
    expect(error.errorDescription).toBe('source: is required; destination: is required');
  });

  it.each([1, true, null, {}, [], ['cluster0']])('source and destination are strings: %j', (value) => {
    const error = failureOf(() => parseStartRequest({ source: value, destination: value }));
    expect(error.error).toBe('invalidRequest');
    expect(error.errorDescription).toMatch(/^source: .+; destination: .+$/);
  });

  it('refuses empty names', () => {
    expectInvalid({ source: '' }, 'source: must not be empty');
  });

  it('takes the clusters in either direction', () => {
    expect(parseStartRequest({ source: 'cluster1', destination: 'cluster0' })).toMatchObject({ source: 'cluster1' });
  });

  it.each([undefined, null, 'x', 1, [], [{}]])('refuses what is no document: %j', (body) => {
    expect(failureOf(() => parseStartRequest(body)).errorDescription).toMatch(/^body: /);
  });
});

describe('defaults', () => {
  it('fills in every default', () => {
    expect(parseStartRequest(clusters)).toEqual({
      ...clusters,
      buildIndexes: 'beforeDataCopy',
      enableUserWriteBlocking: false,
      includeNamespaces: [],
      excludeNamespaces: [],
      reversible: false,
      verification: { enabled: true },
    });
  });

  it('enables verification for an empty verification document', () => {
    expect(parseStartRequest({ ...clusters, verification: {} }).verification).toEqual({ enabled: true });
  });

  it('takes false for verification.enabled', () => {
    expect(parseStartRequest({ ...clusters, verification: { enabled: false } }).verification.enabled).toBe(false);
  });

  it('does not create supporting indexes unless asked to', () => {
    const request = parseStartRequest({ ...clusters, sharding: { shardingEntries: [] } });
    expect(request.sharding).toEqual({ createSupportingIndexes: false, shardingEntries: [] });
  });
});

describe('values', () => {
  it.each(buildIndexesValues)('buildIndexes may be %s', (buildIndexes) => {
    expect(parseStartRequest({ ...clusters, buildIndexes }).buildIndexes).toBe(buildIndexes);
  });

  it.each(['afterCopy', 'Never', '', null, true])('buildIndexes may not be %j', (buildIndexes) => {
    const error = failureOf(() => parseStartRequest({ ...clusters, buildIndexes }));
    expect(error.errorDescription).toMatch(/^buildIndexes: .*"beforeDataCopy"\|"afterDataCopy"\|.*"never"/);
  });

  it.each(['reversible'])('%s is a boolean', (field) => {
    for (const value of ['true', 1, null]) {
      const error = failureOf(() => parseStartRequest({ ...clusters, [field]: value }));
      expect(error.errorDescription).toMatch(new RegExp(`^${field}: .*expected boolean`));
    }
  });

  it.each<[unknown, boolean | string]>([
    [true, true],
    [false, false],
    ['sourceAndDestination', true],
    ['none', false],
    ['destinationOnly', 'destinationOnly'],
  ])('enableUserWriteBlocking %j is %j in normal form', (given, normal) => {
    const request = parseStartRequest({ ...clusters, enableUserWriteBlocking: given });
    expect(request.enableUserWriteBlocking).toBe(normal);
    expect(parseStartRequest(request)).toEqual(request);
  });

  it.each(['true', 'source', 1, null])('enableUserWriteBlocking may not be %j', (given) => {
    const error = failureOf(() => parseStartRequest({ ...clusters, enableUserWriteBlocking: given }));
    expect(error.errorDescription).toMatch(/^enableUserWriteBlocking: must be true, false or one of "none"/);
  });

  it('refuses reversible where only the destination is blocked', () => {
    const body = { ...clusters, reversible: true, enableUserWriteBlocking: 'destinationOnly' };
    expect(failureOf(() => parseStartRequest(body))).toMatchObject({ error: 'reversibleNeedsWriteBlocking' });
  });

  it.each([{ enabled: 'yes' }, { enabled: null }, null, true, []])(
    'verification is a document with a boolean: %j',
    (verification) => {
      expect(failureOf(() => parseStartRequest({ ...clusters, verification })).errorDescription).toMatch(
        /^verification/,
      );
    },
  );

  it('copyInNaturalOrder takes selectors like a filter, and an empty list is the same as none', () => {
    const parsed = parseStartRequest({ ...clusters, copyInNaturalOrder: [{ database: 'b' }, { database: 'a' }] });
    expect(parsed.copyInNaturalOrder).toEqual([{ database: 'a' }, { database: 'b' }]);
    expect(parseStartRequest({ ...clusters, copyInNaturalOrder: [] })).toEqual(parseStartRequest(clusters));
    expectInvalid(
      { copyInNaturalOrder: [{}] },
      'copyInNaturalOrder[0].database: is required unless databaseRegex is given',
    );
    expectInvalid({ copyInNaturalOrder: true }, 'copyInNaturalOrder: Invalid input: expected array, received boolean');
  });

  it('detectRandomId is a boolean, and false is the same as left out', () => {
    expect(parseStartRequest({ ...clusters, detectRandomId: true }).detectRandomId).toBe(true);
    expect(parseStartRequest({ ...clusters, detectRandomId: false })).toEqual(parseStartRequest(clusters));
    expectInvalid({ detectRandomId: 'yes' }, 'detectRandomId: Invalid input: expected boolean, received string');
  });

  it.each(['preExistingDestinationData', 'skipDiskSpaceCheck', 'Source', 'constructor'])(
    'the field %s is unknown',
    (field) => {
      expectInvalid({ [field]: true }, `${field}: unknown field`);
    },
  );

  it('refuses __proto__ as any other unknown field', () => {
    const body: unknown = JSON.parse('{"source":"cluster0","destination":"cluster1","__proto__":{"reversible":true}}');
    expect(failureOf(() => parseStartRequest(body)).errorDescription).toBe('__proto__: unknown field');
  });

  it('names every wrong value with its path', () => {
    expectInvalid(
      {
        source: '',
        verification: { enabled: true, memory: 1 },
        includeNamespaces: [{ database: 'a' }, { database: '', 'a b': 1 }],
      },
      'source: must not be empty',
      'verification.memory: unknown field',
      'includeNamespaces[1].database: must not be empty',
      'includeNamespaces[1]."a b": unknown field',
    );
  });

  it('names at most twenty problems and counts the others', () => {
    const unknown = Object.fromEntries(Array.from({ length: 25 }, (_, position) => [`field${position}`, 1]));
    const error = failureOf(() => parseStartRequest({ ...clusters, ...unknown }));
    expect(error.errorDescription).toMatch(/field19: unknown field; and 5 more$/);
  });

  it.each([
    { includeNamespaces: Array.from({ length: 50_000 }, () => 1) },
    { includeNamespaces: Array.from({ length: 20_000 }, () => ({ database: 'a', collections: ['b'] })) },
  ])('refuses a body with too many values before it checks them: %#', (fields) => {
    expectInvalid(fields, 'body: has more than 50000 values');
  });

  it('takes a filter of ten thousand selectors', () => {
    const selectors = Array.from({ length: 10_000 }, (_, position) => ({
      database: 'a',
      collections: [`c${position}`],
    }));
    expect(parseStartRequest({ ...clusters, includeNamespaces: selectors }).includeNamespaces).toHaveLength(10_000);
  });

  it('shortens the name of an unknown field', () => {
    const error = failureOf(() => parseStartRequest({ ...clusters, ['x'.repeat(100_000)]: 1 }));
    expect(error.errorDescription.length).toBeLessThan(200);
  });
});

describe('rules between options', () => {
  it('refuses a source that is the destination', () => {
    const error = failureOf(() => parseStartRequest({ source: 'cluster0', destination: 'cluster0' }));
    expect(error).toMatchObject({ error: 'sourceEqualsDestination', httpStatus: 422 });
  });

  it.each(['excludeHashed', 'excludeHashedAfterCopy'])('refuses reversible with buildIndexes %s', (buildIndexes) => {
    const body = { ...clusters, reversible: true, buildIndexes, enableUserWriteBlocking: true };
    expect(failureOf(() => parseStartRequest(body))).toMatchObject({ error: 'excludeHashedWithReversible' });
  });

  it.each([{ indexConflicts: 'majority' }, { indexConflicts: 'skip' }, { indexFailures: 'skip' }])(
    'refuses reversible with %j, and takes the default',
    (choice) => {
      const body = { ...clusters, reversible: true, enableUserWriteBlocking: true };
      expect(failureOf(() => parseStartRequest({ ...body, ...choice }))).toMatchObject({
        error: 'indexChoicesWithReversible',
      });
      expect(() => parseStartRequest({ ...body, indexConflicts: 'refuse', indexFailures: 'refuse' })).not.toThrow();
    },
  );

  it('carry names kinds once, in any order, and nothing is the same as no list', () => {
    const zones = { zones: { rs0: 'a', rs1: 'b' } };
    const body = { ...clusters, carry: [zones, 'usersAndRoles', 'balancing'] };
    expect(parseStartRequest(body).carry).toEqual(['balancing', 'usersAndRoles', zones]);
    expect(parseStartRequest({ ...clusters, carry: [] })).toEqual(parseStartRequest(clusters));
    for (const carry of [['zones', zones], ['users'], [{ zones: { rs0: '' } }], [{ zones: {}, more: 1 }]])
      expect(failureOf(() => parseStartRequest({ ...clusters, carry }))).toMatchObject({ error: 'invalidRequest' });
  });

  it('zones of several shards may meet on one, unless they may have to go back', () => {
    const carry = [{ zones: { rs0: 'a', rs1: 'b', rs2: 'b' } }];
    expect(parseStartRequest({ ...clusters, carry }).carry).toEqual(carry);
    const reversible = { reversible: true, enableUserWriteBlocking: true };
    expect(failureOf(() => parseStartRequest({ ...clusters, ...reversible, carry }))).toMatchObject({
      error: 'mergedZonesWithReversible',
      httpStatus: 422,
    });
    const single = [{ zones: { rs0: 'b', rs1: 'a' } }];
    expect(() => parseStartRequest({ ...clusters, ...reversible, carry: single })).not.toThrow();
  });

  it.each(['usersAndRoles', 'querySettings'])('refuses %s in carry with other names', (kind) => {
    const namespaceRemap = [{ from: { database: 'shop' }, to: { database: 'store' } }];
    expect(failureOf(() => parseStartRequest({ ...clusters, namespaceRemap, carry: [kind] }))).toMatchObject({
      error: 'carryWithNamespaceRemap',
      httpStatus: 422,
    });
    expect(() => parseStartRequest({ ...clusters, namespaceRemap, carry: ['zones'] })).not.toThrow();
  });

  it('refuses reversible with buildIndexes never', () => {
    const body = { ...clusters, reversible: true, buildIndexes: 'never', enableUserWriteBlocking: true };
    expect(failureOf(() => parseStartRequest(body))).toMatchObject({
      error: 'buildIndexesNeverWithReversible',
      httpStatus: 422,
    });
  });

  it('refuses reversible without enableUserWriteBlocking', () => {
    const body = { ...clusters, reversible: true };
    expect(failureOf(() => parseStartRequest(body))).toMatchObject({
      error: 'reversibleNeedsWriteBlocking',
      httpStatus: 422,
    });
  });

  it('accepts reversible with enableUserWriteBlocking, together with verification', () => {
    const body = { ...clusters, reversible: true, enableUserWriteBlocking: true, verification: { enabled: true } };
    expect(parseStartRequest(body)).toMatchObject({ reversible: true, verification: { enabled: true } });
  });

  it('accepts buildIndexes never and enableUserWriteBlocking without reversible', () => {
    const body = { ...clusters, buildIndexes: 'never', enableUserWriteBlocking: true };
    expect(parseStartRequest(body)).toMatchObject({ buildIndexes: 'never', enableUserWriteBlocking: true });
  });
});
