import { MongoDriverError, MongoNetworkError, MongoServerError } from 'mongodb';
import { describe, expect, test } from 'vitest';
import {
  classify,
  CollectionAbsentError,
  failureName,
  failureOfRead,
  isNetworkFailure,
  kindOfCode,
  losesConnection,
  mayReadLater,
} from '../../../src/cluster/failure.js';
import { namedFailure } from '../../../src/cluster/named-failure.js';
import { codesByCategory, codesWithoutCategory, fatalWithoutCategory } from './server-codes.js';

const serverError = (code: number, errorLabels: string[] = []) =>
  new MongoServerError({
    ok: 0,
    code,
    codeName: 'Name',
    errmsg: 'not master; interrupted at shutdown; E11000 duplicate key',
    errorLabels,
  });

/** A copy of the driver's own class, which it does not export. */
class PoolBusyError extends MongoDriverError {
  override get name(): string {
    return 'MongoWaitQueueTimeoutError';
  }
}

describe('classify', () => {
  test.each([
    ['retryable', [50, 64, 82, 107, 112, 149, 187, 200, 203, 210, 261, 264, 272, 319, 338, 342, 363, 365, 414, 28_799]],
    ['cursorLost', [43, 237]],
    ['snapshotTooOld', [239, 246, 250]],
    ['catalogChanged', [175, 361]],
    ['historyLost', [136, 280, 286]],
    ['staleEpoch', [225]],
    ['outcomeUnknown', [217]],
    ['duplicateKey', [11000]],
    ['notFound', [26, 27]],
    ['unauthorized', [13, 18, 214]],
    ['fatal', [1, 2, 9, 14, 59, 61, 72, 10334, 40415]],
  ] as const)('finds %s by the code', (kind, codes) => {
    for (const code of codes) {
      expect(classify(serverError(code))).toBe(kind);
      expect(kindOfCode(code)).toBe(kind);
    }
  });

  test.each([
    ['NetworkError', [6, 7, 89, 317, 384, 9001]],
    ['NotPrimaryError', [189, 10_058, 10_107, 11_602, 13_435, 13_436]],
    ['ShutdownError and CancellationError', [90, 91, 355, 11_600, 46_841]],
    ['Interruption', [24, 50, 262, 279, 281, 282, 290, 355, 453, 11_600, 11_601, 11_602, 46_841, 91_331, 10_045_600]],
    ['RetriableError', [134, 262, 358, 402, 406, 407, 412, 453, 462, 91_331, 10_045_600]],
    ['SystemOverloadedError', [433, 449, 450, 462]],
    ['StaleShardVersionError', [63, 150, 249, 13_388]],
  ])("retries errors of the server's category %s", (_category, codes) => {
    expect(codes.filter((code) => kindOfCode(code) !== 'retryable')).toEqual([]);
  });

  /** Codes that no repetition mends, and why: everything else in these categories has a kind. */
  const fatalOnPurpose: Readonly<Record<number, string>> = {
    75: 'of servers before 3.6',
    79: 'the write concern has a name that the set does not know',
    96: 'has no cause of its own',
    320: 'of servers for several tenants, to which users have no access',
    321: 'of servers for several tenants',
    325: 'of servers for several tenants',
    353: 'of servers for several tenants',
  };

  test.each(Object.entries(codesByCategory))('has a kind for every code of 8.0 of the category %s', (_, codes) => {
    const unknown = Object.entries(codes).filter(
      ([, code]) => kindOfCode(code) === 'fatal' && fatalOnPurpose[code] === undefined,
    );
    expect(unknown).toEqual([]);
  });

  test.each(['NetworkError', 'NotPrimaryError', 'ShutdownError', 'CancellationError', 'RetriableError'])(
    'retries every code of 8.0 of the category %s',
    (category) => {
      const codes = Object.values(codesByCategory[category] ?? {});
      expect(codes.length).toBeGreaterThan(0);
      expect(codes.filter((code) => kindOfCode(code) !== 'retryable')).toEqual([]);
    },
  );

  const namesOf = (reason: string): string[] => (fatalWithoutCategory[reason] ?? '').trim().split(/\s+/);
  const codeNamed = (name: string): number => codesWithoutCategory.get(name) ?? NaN;

  test('has a kind for every code of 8.0 without a category, or a reason why nothing mends it', () => {
    const reasoned = Object.keys(fatalWithoutCategory).flatMap(namesOf);
    expect(codesWithoutCategory.size).toBeGreaterThan(300);
    expect(reasoned.filter((name) => kindOfCode(codeNamed(name)) !== 'fatal')).toEqual([]);
    expect(new Set(reasoned).size).toBe(reasoned.length);
    const fatal = [...codesWithoutCategory].filter(([, code]) => kindOfCode(code) === 'fatal').map(([name]) => name);
    expect(fatal.filter((name) => !reasoned.includes(name))).toEqual([]);
  });

  test('leaves no code without a name that an operator can do something about', () => {
    const names = namesOf('an operator removes it: a failure of its own name');
    expect(names).toContain('UserWritesBlocked');
    const unnamed = names.filter((name) => namedFailure(serverError(codeNamed(name))).error === 'internalError');
    expect(unnamed).toEqual([]);
  });

  test('takes no code for fatal on purpose that has a kind', () => {
    expect(Object.keys(fatalOnPurpose).filter((code) => kindOfCode(Number(code)) !== 'fatal')).toEqual([]);
  });

  test.each([
    ['a read at a time', { find: 'c', readConcern: { level: 'snapshot', atClusterTime: 1 } }, 'snapshotTooOld'],
    ['a current read', { find: 'c', readConcern: { level: 'majority' } }, 'retryable'],
    ['a command without read concern', { insert: 'c' }, 'retryable'],
  ])('takes a change of place for a time too old only of %s', (_, command, kind) => {
    const failure = failureOfRead(serverError(272, ['TransientTransactionError']), command);
    expect(classify(failure)).toBe(kind);
    expect(mayReadLater(failure)).toBe(kind === 'snapshotTooOld');
    const other = serverError(91);
    expect(failureOfRead(other, command)).toBe(other);
  });

  test('uses the labels of unknown codes', () => {
    expect(classify(serverError(99_999, ['RetryableWriteError']))).toBe('retryable');
    expect(classify(serverError(99_999))).toBe('fatal');
  });

  test('lets no label overrule a known code', () => {
    expect(classify(serverError(225, ['TransientTransactionError']))).toBe('staleEpoch');
  });

  test.each(['EPIPE', 'ECONNRESET', 'ERR_STREAM_DESTROYED'])(
    'treats a closed socket as a failure of the network, also as Node.js reports it: %s',
    (code) => {
      const error = Object.assign(new Error('This socket has been ended by the other party'), { code });
      expect([classify(error), isNetworkFailure(error)]).toEqual(['retryable', true]);
    },
  );

  test('retries failures of the network, and nothing but server failures', () => {
    expect(classify(new MongoNetworkError('gone'))).toBe('retryable');
    expect(classify(new PoolBusyError('no connection was free'))).toBe('retryable');
    expect(classify(new CollectionAbsentError('gone'))).toBe('catalogChanged');
    expect(classify(new Error('network'))).toBe('fatal');
    expect(classify(Object.assign(new Error('a file'), { code: 'ENOENT' }))).toBe('fatal');
    expect(classify(undefined)).toBe('fatal');
  });
});

test('leaves a node that does not answer or shuts down, not one that refuses', () => {
  expect(losesConnection(new MongoNetworkError('gone'))).toBe(true);
  expect(losesConnection(serverError(91))).toBe(true);
  expect(losesConnection(serverError(333))).toBe(true);
  expect(losesConnection(serverError(50))).toBe(false);
  expect(losesConnection(new Error('x'))).toBe(false);
  expect(isNetworkFailure(serverError(91))).toBe(false);
});

test('names a failure without anything of its text', () => {
  expect(failureName(serverError(91))).toBe('Name (91)');
  expect(failureName(new TypeError('secret'))).toBe('TypeError');
  expect(failureName('secret')).toBe('string');
});

test('retries an index build that a block of user writes has aborted', () => {
  expect(kindOfCode(276)).toBe('retryable');
});
