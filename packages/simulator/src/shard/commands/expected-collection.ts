import { Binary } from 'bson';
import type { Doc, Value } from '../../bson/value.js';
import { CommandError } from '../../node/command.js';
import type { Collection } from '../storage/collection.js';
import { splitNamespace } from '../../node/namespace.js';
import type { CommandContext } from './command-context.js';

/**
 * Since 6.0 a command may name its expected collection by `collectionUUID`.
 * @param namespace of the command
 * @param collection under that name
 * @throws CommandError 361 when it is another one, missing, or a view
 */
export function requireExpectedCollection(
  { state, request }: CommandContext,
  namespace: string,
  collection: Collection | undefined,
): void {
  const expected = request.body.get('collectionUUID');
  if (!(expected instanceof Binary) || !state.features.atLeast(6, 0)) return;
  if (collection !== undefined && Buffer.from(collection.uuid.buffer).equals(Buffer.from(expected.buffer))) return;
  const { db, collection: name } = splitNamespace(namespace);
  const actual = state.catalog.collectionByUuid(expected);
  throw unexpectedCollection(
    'Collection UUID does not match that specified',
    new Map<string, Value>([
      ['db', db],
      ['collectionUUID', expected],
      ['expectedCollection', name],
      ['actualCollection', actual?.db === db ? actual.name : null],
    ]),
  );
}

/** @param fields the expected collection, and the name that has its UUID */
export function unexpectedCollection(message: string, fields: Doc): CommandError {
  return new CommandError(361, 'CollectionUUIDMismatch', message, [], fields);
}
