import type { Doc, Value } from '../../bson/value.js';
import { CommandError } from '../../node/command.js';
import { failure } from '../failure.js';

/** Engines whose options simulated servers take. */
const knownEngines: ReadonlySet<string> = new Set(['wiredTiger']);

/**
 * Refuses a `create` with options of unknown storage engines (corpus: 25-storage-options). `configString` is not
 * checked.
 * @throws CommandError 72, or 2 if an engine's options are not a document
 */
export function refuseUnknownEngines(create: Doc): void {
  refuseUnknownIn(create.get('storageEngine'));
  const defaults = create.get('indexOptionDefaults');
  if (defaults instanceof Map) refuseUnknownIn(defaults.get('storageEngine'));
}

function refuseUnknownIn(engines: Value | undefined): void {
  if (!(engines instanceof Map)) return;
  for (const [name, options] of engines) {
    if (!(options instanceof Map))
      throw new CommandError(2, 'BadValue', `'storageEngine.${name}' has to be an embedded document.`);
    if (!knownEngines.has(name))
      throw failure.invalidOptions(`${name} is not a registered storage engine for this server`);
  }
}
