import type { Doc, Value } from '../../bson/value.js';
import { CommandError } from '../../node/command.js';
import { failure } from '../failure.js';

/** Engines whose options a server takes, as those of a release that is built for production. */
const ENGINES: ReadonlySet<string> = new Set(['wiredTiger']);

/**
 * Refuses options of engines that the server does not have (corpus: 25-storage-options). What an engine's own
 * configuration string says is not simulated.
 * @throws CommandError 72, or 2 for options of an engine that are no document
 */
export function refuseOtherEngines(body: Doc): void {
  refuseIn(body.get('storageEngine'));
  const defaults = body.get('indexOptionDefaults');
  if (defaults instanceof Map) refuseIn(defaults.get('storageEngine'));
}

function refuseIn(engines: Value | undefined): void {
  if (!(engines instanceof Map)) return;
  for (const [name, options] of engines) {
    if (!(options instanceof Map))
      throw new CommandError(2, 'BadValue', `'storageEngine.${name}' has to be an embedded document.`);
    if (!ENGINES.has(name)) throw failure.invalidOptions(`${name} is not a registered storage engine for this server`);
  }
}
