import { Binary } from 'bson';
import { CommandError } from '../../node/command.js';
import type { Collection } from '../storage/collection.js';
import type { CommandContext } from './command-context.js';

/**
 * Since 6.0 a command may say by `collectionUUID` which collection it means.
 * @param collection what stands under the name
 * @param mayBeAbsent that there is none is the command's to say
 * @throws CommandError 361 when it is another one
 */
export function requireExpectedCollection({ state, request }: CommandContext, collection: Collection | undefined, mayBeAbsent = true): void {
  const expected = request.body.get('collectionUUID');
  if (!(expected instanceof Binary) || !state.version.atLeast(6, 0) || (collection === undefined && mayBeAbsent)) return;
  if (collection !== undefined && Buffer.from(collection.uuid.buffer).equals(Buffer.from(expected.buffer))) return;
  throw unexpectedCollection('Collection UUID does not match that specified');
}

export function unexpectedCollection(message: string): CommandError {
  return new CommandError(361, 'CollectionUUIDMismatch', message);
}
