import { MongoDriverError, MongoNetworkError, MongoServerError } from 'mongodb';
import { describe, expect, test } from 'vitest';
import { classify, CollectionAbsentError, failureName, isNetworkFailure, kindOfCode, losesConnection } from '../../../src/cluster/failure.js';

const serverError = (code: number, errorLabels: string[] = []) =>
  new MongoServerError({ ok: 0, code, codeName: 'Name', errmsg: 'not master; interrupted at shutdown; E11000 duplicate key', errorLabels });

/** As the driver's own, which it keeps to itself. */
class PoolBusyError extends MongoDriverError {
  override get name(): string {
    return 'MongoWaitQueueTimeoutError';
  }
}

describe('classify', () => {
  test.each([
    ['retryable', [6, 7, 50, 64, 82, 89, 91, 107, 112, 189, 262, 9001, 10107, 11600, 11602, 13388, 13435, 13436, 28_799]],
    ['cursorLost', [43, 237]],
    ['snapshotTooOld', [239, 246, 250]],
    ['catalogChanged', [175, 361]],
    ['historyLost', [136, 280, 286]],
    ['staleEpoch', [225]],
    ['duplicateKey', [11000]],
    ['notFound', [26, 27]],
    ['unauthorized', [13, 18]],
    ['fatal', [1, 2, 9, 14, 59, 61, 72, 10334, 40415]],
  ] as const)('finds %s by the code', (kind, codes) => {
    for (const code of codes) {
      expect(classify(serverError(code))).toBe(kind);
      expect(kindOfCode(code)).toBe(kind);
    }
  });

  test('heeds the labels of codes that it does not know', () => {
    expect(classify(serverError(99_999, ['RetryableWriteError']))).toBe('retryable');
    expect(classify(serverError(99_999))).toBe('fatal');
  });

  test('does not let a label overrule a code that it knows', () => {
    expect(classify(serverError(225, ['TransientTransactionError']))).toBe('staleEpoch');
  });

  test('retries failures of the network, and nothing that is no failure of a server', () => {
    expect(classify(new MongoNetworkError('gone'))).toBe('retryable');
    expect(classify(new PoolBusyError('no connection was free'))).toBe('retryable');
    expect(classify(new CollectionAbsentError('gone'))).toBe('catalogChanged');
    expect(classify(new Error('network'))).toBe('fatal');
    expect(classify(undefined)).toBe('fatal');
  });
});

test('a node is left when it does not answer or shuts down, not when it refuses', () => {
  expect(losesConnection(new MongoNetworkError('gone'))).toBe(true);
  expect(losesConnection(serverError(91))).toBe(true);
  expect(losesConnection(serverError(50))).toBe(false);
  expect(losesConnection(new Error('x'))).toBe(false);
  expect(isNetworkFailure(serverError(91))).toBe(false);
});

test('the name of a failure holds nothing of its text', () => {
  expect(failureName(serverError(91))).toBe('Name (91)');
  expect(failureName(new TypeError('secret'))).toBe('TypeError');
  expect(failureName('secret')).toBe('string');
});
