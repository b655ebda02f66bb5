import { Binary } from 'bson';
import type { Doc } from '../../src/bson/value.js';
import { nameOf, type Step } from './corpus-file.js';

/**
 * Sessions that the recording driver added by itself, by letters, where the recorded outcome depends on them: it opened
 * a stream in one session and, after transactions, read from it in another.
 */
const sessions: ReadonlyMap<string, string> = new Map([
  ['14-replica-set:15', 'I'],
  ['14-replica-set:31', 'I'],
  ['14-replica-set:32', 'I'],
  ['14-replica-set:38', 'J'],
]);

/** A step's command with the session that the driver sent along, if the outcome shows it. */
export function withDriverSession(step: Step, command: Doc): Doc {
  const letter = sessions.get(nameOf(step));
  if (letter === undefined) return command;
  const id = new Binary(Buffer.alloc(16, letter.charCodeAt(0)), Binary.SUBTYPE_UUID);
  return new Map(command).set('lsid', new Map([['id', id]]));
}
