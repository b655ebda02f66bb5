import { documentText } from '../../bson/text.js';
import { type Doc, RawDocument, type Value } from '../../bson/value.js';
import type { CommandRequest } from '../../node/command.js';

/** Fields that the server does not show, by command. */
const hidden: ReadonlyMap<string, string> = new Map([
  ['createUser', 'pwd'],
  ['updateUser', 'pwd'],
  ['saslStart', 'payload'],
  ['saslContinue', 'payload'],
]);

/** A command as a refusal shows it: as sent, without document sequences, passwords as `xxx`. */
export function commandText(request: CommandRequest): string {
  const shown = withListedStatements(request);
  const secret = hidden.get(request.name);
  if (secret !== undefined && shown.has(secret)) shown.set(secret, 'xxx');
  return documentText(shown);
}

/** Puts statements that were taken out of the body as bytes back into their place. */
function withListedStatements({ body, sequences, listed }: CommandRequest): Doc {
  const fields: [string, Value][] = [...body];
  if (listed !== undefined) {
    const statements = (sequences.get(listed.field) ?? []).map((bytes) => new RawDocument(bytes));
    fields.splice(listed.index, 0, [listed.field, statements]);
  }
  return new Map(fields);
}
