import { Binary, Int32 } from 'bson';
import { createHash, pbkdf2Sync, randomBytes } from 'node:crypto';
import { hmac, scramMechanism } from '../../src/access/scram/scram-mechanism.js';
import type { Doc, Value } from '../../src/bson/value.js';
import type { WireClient } from './wire-client.js';

const nonceBytes = 18;

/** Logs a connection in with SCRAM-SHA-256, as drivers do (RFC 7677). Throws when the server refuses. */
export async function logIn(client: WireClient, db: string, user: string, password: string): Promise<void> {
  const mechanism = scramMechanism('SCRAM-SHA-256');
  if (mechanism === undefined) throw new Error('SCRAM-SHA-256 is gone');
  const bare = `n=${user},r=${randomBytes(nonceBytes).toString('base64')}`;
  const options = new Map<string, Value>([['skipEmptyExchange', true]]);
  const started = await step(client, db, [
    ['saslStart', new Int32(1)],
    ['mechanism', mechanism.name],
    ['payload', bytes(`n,,${bare}`)],
    ['options', options],
  ]);
  const challenge = text(started);
  const [, nonce = '', salt = '', iterations = ''] = /^r=(.*),s=(.*),i=(.*)$/.exec(challenge) ?? [];
  const salted = pbkdf2Sync(
    password,
    Buffer.from(salt, 'base64'),
    Number(iterations),
    mechanism.hashBytes,
    mechanism.hash,
  );
  const clientKey = hmac(mechanism, salted, 'Client Key');
  const withoutProof = `c=biws,r=${nonce}`;
  const signature = hmac(
    mechanism,
    createHash(mechanism.hash).update(clientKey).digest(),
    `${bare},${challenge},${withoutProof}`,
  );
  const proof = Buffer.from(clientKey.map((byte, index) => byte ^ (signature[index] ?? 0))).toString('base64');
  await step(client, db, [
    ['saslContinue', new Int32(1)],
    ['conversationId', new Int32(1)],
    ['payload', bytes(`${withoutProof},p=${proof}`)],
  ]);
}

async function step(client: WireClient, db: string, fields: [string, Value][]): Promise<Doc> {
  const reply = await client.run(db, new Map(fields));
  if (reply.has('errmsg')) throw new Error(JSON.stringify(reply.get('errmsg')));
  return reply;
}

function bytes(content: string): Binary {
  return new Binary(Buffer.from(content), 0);
}

function text(reply: Doc): string {
  const payload = reply.get('payload');
  return payload instanceof Binary ? Buffer.from(payload.buffer.subarray(0, payload.position)).toString() : '';
}
