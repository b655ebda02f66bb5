import { Int32, Long } from 'bson';
import { describe, expect, it } from 'vitest';
import type { Doc, Value } from '../../../src/bson/value.js';
import { CommandError } from '../../../src/node/command.js';
import { doc } from '../../../src/node/doc-fields.js';
import { concernErrorLabels, errorLabels, type LabellingNode } from '../../../src/node/error-labels.js';
import { errorName } from '../../../src/node/error-name.js';
import { internalRequest } from '../../../src/node/internal-request.js';

const retryable = doc(['txnNumber', Long.ONE]);
const transaction = doc(['txnNumber', Long.ONE], ['autocommit', false]);
const stream = doc(['pipeline', [doc(['$changeStream', new Map()])]]);

function request(name: string, fields: Doc) {
  return internalRequest('db', new Map<string, Value>([[name, 'c'], ...fields]));
}

describe('labels of a failed command', () => {
  it.each<[LabellingNode, string, Doc, number, string[]]>([
    ['member', 'insert', retryable, 91, ['RetryableWriteError']],
    ['member', 'insert', retryable, 11000, []],
    ['member', 'insert', new Map(), 91, []],
    ['router', 'insert', retryable, 91, []],
    ['member', 'insert', transaction, 112, ['TransientTransactionError']],
    ['router', 'find', transaction, 6, ['TransientTransactionError']],
    ['router', 'find', transaction, 246, ['TransientTransactionError']],
    ['member', 'commitTransaction', transaction, 11602, ['RetryableWriteError']],
    ['member', 'commitTransaction', transaction, 251, ['TransientTransactionError']],
    ['router', 'commitTransaction', transaction, 6, []],
    ['router', 'aggregate', stream, 133, ['ResumableChangeStreamError']],
    ['member', 'aggregate', stream, 11600, ['ResumableChangeStreamError']],
    ['member', 'aggregate', stream, 280, []],
    ['member', 'find', new Map(), 13435, []],
  ])('%s, %s %o, code %i: %j', (node, name, fields, code, labels) => {
    expect(errorLabels(node, request(name, fields), new CommandError(code, errorName(code), ''))).toEqual(labels);
  });

  it('follow the code of a write concern that was not met', () => {
    const reply = doc(['writeConcernError', doc(['code', new Int32(91)])]);
    expect(concernErrorLabels('member', request('insert', retryable), reply)).toEqual(['RetryableWriteError']);
    expect(concernErrorLabels('router', request('insert', retryable), reply)).toEqual([]);
    expect(concernErrorLabels('member', request('insert', retryable), new Map())).toEqual([]);
  });
});
