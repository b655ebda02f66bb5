import { BSON, MongoNetworkError, MongoServerError } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { ContractService } from '@convoy/api/http/contract-routes';
import { createHttpApp } from '@convoy/api/http/http-app';
import { only } from '../../../../../test/only.js';
import { errorText, loggedError } from '../../../src/logging/error-text.js';
import { createLogger } from '../../../src/logging/logger.js';
import { throwWriteError } from '../../../src/store/metadata.js';

const SECRET = 'hidden@people.example';

/** Replies of servers whose texts hold values, in the forms of 5.0 to 8.0. */
const replies = [
  {
    code: 11000,
    codeName: 'DuplicateKey',
    errmsg: `E11000 duplicate key error collection: shop.customers index: email_1 dup key: { email: "${SECRET}" }`,
    keyPattern: { email: 1 },
    keyValue: { email: SECRET },
  },
  {
    code: 11000,
    errmsg:
      'E11000 duplicate key error collection: shop.customers index: email_1 collation: { locale: ' +
      `"en" } dup key: { email: " index: ${SECRET} dup key: " }`,
  },
  { code: 61, codeName: 'ShardKeyNotFound', errmsg: `Cannot target single shard using key { email: "${SECRET}" }` },
  {
    code: 121,
    codeName: 'DocumentValidationFailure',
    errmsg: 'Document failed validation',
    errInfo: { failingDocumentId: SECRET, details: { consideredValue: SECRET } },
  },
  {
    code: 66,
    codeName: 'ImmutableField',
    errmsg: `Performing an update on the path '_id' would modify the immutable field '_id': { _id: "${SECRET}" }`,
  },
  {
    code: 57,
    codeName: 'DottedFieldName',
    errmsg: `The dotted field '${SECRET}' in '${SECRET}' is not valid for storage.`,
  },
  {
    code: 96,
    codeName: 'OperationFailed',
    errmsg: `PlanExecutor error during aggregation :: caused by :: Failed to parse ${SECRET}`,
  },
  {
    code: 16755,
    codeName: 'Location16755',
    errmsg: `Can't extract geo keys: { _id: 1, where: "${SECRET}" }\n    at ${SECRET}`,
  },
  {
    code: 13,
    codeName: 'Unauthorized',
    errmsg: `not authorized on shop to execute command { find: "c", filter: { email: "${SECRET}" } }`,
  },
];

const errors: unknown[] = [
  ...replies.map((reply) => new MongoServerError(reply)),
  new ConvoyError('internalError', undefined, {
    cause: new Error('outer', { cause: new MongoServerError(replies[2] as BSON.Document) }),
  }),
  Object.assign(new TypeError(SECRET), { name: SECRET, code: SECRET, codeName: SECRET }),
  thrownBy(() => JSON.parse(SECRET)),
  thrownBy(() => BigInt(SECRET)),
  thrownBy(() => Buffer.from('').readInt8(SECRET as unknown as number)),
  thrownBy(() => SECRET in (SECRET as unknown as object)),
  thrownBy(() => new BSON.ObjectId(SECRET)),
  thrownBy(() => throwWriteError({ writeErrors: [replies[0]] })),
  SECRET,
  { message: SECRET },
];

function thrownBy(act: () => unknown): unknown {
  try {
    return act();
  } catch (error) {
    return error;
  }
}

function logged(write: (logger: ReturnType<typeof createLogger>) => void): string {
  const lines: string[] = [];
  write(createLogger({ verbosity: 'DEBUG', stream: { write: (line: string) => void lines.push(line) } }));
  return lines.join('');
}

describe('values of documents', () => {
  it.each(errors.map((error, number) => ({ number, error })))(
    'do not get into a text or the log: $number',
    ({ error }) => {
      expect(errorText(error)).not.toContain('hidden');
      expect(JSON.stringify(loggedError(error))).not.toContain('hidden');
      if (!(error instanceof Error)) return;
      const text = logged((logger) => {
        logger.error({ err: error }, 'with a message');
        logger.error({ err: error });
        logger.error({ cause: error }, 'under another name');
        logger.error(error);
        logger.error(error, 'with a message');
        logger.child({ where: 'x' }).warn({ error }, 'of a child %s', error);
      });
      expect(text).not.toContain('hidden');
      expect(text.trimEnd().split('\n')).toHaveLength(6);
    },
  );

  it('nor by the server of the API', async () => {
    const lines: string[] = [];
    const logger = createLogger({ verbosity: 'DEBUG', stream: { write: (line: string) => void lines.push(line) } });
    const progress = (): never => {
      throw new MongoServerError(replies[0] as BSON.Document);
    };
    const access = { listen: '127.0.0.1', allowedHosts: [], allowUnauthenticated: false };
    const app = await createHttpApp({
      service: only<ContractService>({ progress }),
      access,
      isReady: () => true,
      logger,
    });
    expect((await app.inject('/api/v1/progress')).body).not.toContain('hidden');
    await app.close();
    expect(lines.join('')).toContain('DuplicateKey');
    expect(lines.join('')).not.toContain('hidden');
  });
});

describe('what is needed to understand a failure stays', () => {
  it('names, codes, namespace, index and places', () => {
    expect(loggedError(new MongoServerError(replies[0] as BSON.Document))).toMatchObject({
      type: 'MongoServerError',
      code: 11000,
      codeName: 'DuplicateKey',
      namespace: 'shop.customers',
      index: 'email_1',
      stack: expect.stringMatching(/^ {4}at .*error-text/) as string,
    });
    expect(loggedError(new MongoServerError(replies[1] as BSON.Document))).toMatchObject({
      namespace: 'shop.customers',
      index: 'email_1',
    });
    expect(errorText(new MongoServerError(replies[0] as BSON.Document))).toBe(
      'DuplicateKey (11000) in shop.customers, index email_1',
    );
    expect(errorText(new MongoServerError(replies[2] as BSON.Document))).toBe('ShardKeyNotFound (61)');
  });

  it('messages of our own and of the network, and where a defect was met', () => {
    expect(errorText(new ConvoyError('notReady'))).toContain('notReady: ');
    expect(errorText(new Error('there are no tasks'))).toBe('there are no tasks');
    expect(errorText(new MongoNetworkError('connect ECONNREFUSED 127.0.0.1:1'))).toBe(
      'connect ECONNREFUSED 127.0.0.1:1',
    );
    expect(errorText(thrownBy(() => JSON.parse(SECRET)))).toMatch(/^SyntaxError at JSON\.parse/);
    expect(errorText(thrownBy(() => throwWriteError({ writeErrors: [replies[0]] })))).toMatch(
      /^MetadataWriteError \(11000\)/,
    );
  });

  it('the causes, a bounded number of them', () => {
    const endless = new Error('x');
    endless.cause = endless;
    expect(JSON.stringify(loggedError(endless)).match(/"type"/g)).toHaveLength(6);
  });
});
