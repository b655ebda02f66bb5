import type { Doc } from '../bson/value.js';
import { CommandError, type CommandRequest } from '../node/command.js';
import { handshakes, underItsName } from '../node/command-names.js';
import { unsimulated } from '../node/unsimulated.js';
import { readCommandBody } from './command-body.js';

/** A command as a message holds it. */
export type ParsedCommand = Pick<CommandRequest, 'db' | 'name' | 'body' | 'sequences' | 'listed'>;

const databaseNameBytesMax = 63;

/**
 * Decodes the command of an OP_MSG.
 * @throws CommandError 22 for a body that is no BSON, 40571 without `$db`, 40433 for a repeated field, 73 for an
 * invalid database name
 */
export function parseCommand(bytes: Uint8Array, sent: ReadonlyMap<string, Uint8Array[]>): ParsedCommand {
  const { body, sequences, listed } = readCommandBody(bytes);
  const db = body.get('$db');
  if (typeof db !== 'string') throw new CommandError(40571, 'Location40571', 'OP_MSG requests require a $db argument');
  refuseDatabaseName(db);
  for (const name of sent.keys()) {
    if (body.has(name) || sequences.has(name)) {
      throw new CommandError(40433, 'Location40433', `Duplicate field between body and document sequence ${name}`);
    }
  }
  const all = sequences.size === 0 ? sent : new Map([...sent, ...sequences]);
  return underItsName({ db, name: firstName(body), body, sequences: all, ...(listed === undefined ? {} : { listed }) });
}

/**
 * Decodes the handshake of an OP_QUERY.
 * @throws CommandError 115 for everything else: no driver of today sends it this way
 */
export function parseLegacyHandshake(db: string | undefined, bytes: Uint8Array): ParsedCommand {
  const { body } = readCommandBody(bytes);
  const name = firstName(body);
  if (db === undefined || !handshakes.has(name)) throw unsimulated(`OP_QUERY of ${name}`);
  return { db, name, body, sequences: new Map() };
}

function firstName(body: Doc): string {
  return body.keys().next().value ?? '';
}

function refuseDatabaseName(db: string): void {
  if (db === '' || Buffer.byteLength(db) > databaseNameBytesMax || /[\0/\\. "]/u.test(db)) {
    throw new CommandError(73, 'InvalidNamespace', `Invalid database name: '${db}'`);
  }
}
