import { Long } from 'bson';
import { scanPath } from '../../bson/scan.js';
import { decodeDocument } from '../../bson/decode.js';
import type { Doc, Value } from '../../bson/value.js';
import { CommandError, type CommandRequest } from '../../node/command.js';
import { doc, docOf, isTrue, numberOf, requiredText, textOrEmpty } from '../../node/doc-fields.js';
import { unsimulated } from '../../node/unsimulated.js';
import type { ShardAccess } from '../../shard/shard-access.js';
import type { RouterContext } from '../router-context.js';

/** What `config.settings` holds about the balancer. Clients may write it themselves. */
interface BalancerSettings {
  readonly mode: 'full' | 'off' | 'autoSplitOnly';
  /** Daily time, as `HH:MM` of the server's own clock, outside of which no chunk moves. */
  readonly activeWindow: { readonly start: string; readonly stop: string } | undefined;
  /** Moves wait for the donor's cleanup. */
  readonly waitForDelete: boolean;
}

type ConfigDatabase = Pick<ShardAccess, 'findByKey'>;

export function balancerSettings(config: ConfigDatabase): BalancerSettings {
  const bytes = config.findByKey('config.settings', doc(['_id', 'balancer']));
  const settings: Doc = bytes === undefined ? new Map<string, Value>() : decodeDocument(bytes);
  const mode = textOrEmpty(settings.get('mode'));
  const window = docOf(settings.get('activeWindow'));
  const activeWindow =
    window === undefined
      ? undefined
      : { start: textOrEmpty(window.get('start')), stop: textOrEmpty(window.get('stop')) };
  const known = mode === 'off' || mode === 'autoSplitOnly' ? mode : 'full';
  return {
    mode: settings.get('stopped') === true ? 'off' : known,
    activeWindow,
    waitForDelete: isTrue(settings.get('_waitForDelete')),
  };
}

/** True when `config.collections` disables the balancer for a collection (`sh.disableBalancing`). */
export function isExempt(config: ConfigDatabase, namespace: string): boolean {
  const bytes = config.findByKey('config.collections', doc(['_id', namespace]));
  return bytes !== undefined && scanPath(bytes, 'noBalance') === true;
}

/**
 * `configureCollectionBalancing`: a collection's own chunk size, in MB and 0 for that of the cluster, and its
 * AutoMerger. The simulated balancer reads neither.
 * @throws CommandError 118 for a collection that is not sharded, 115 for a defragmentation
 */
export async function configureBalancingCommand({ catalog }: RouterContext, request: CommandRequest): Promise<Doc> {
  const { name, body } = request;
  const namespace = requiredText(body, name);
  if (isTrue(body.get('defragmentCollection'))) throw unsimulated(`${name} with defragmentCollection`);
  if (catalog.collection(namespace) === undefined)
    throw new CommandError(118, 'NamespaceNotSharded', `Expected collection ${namespace} to be sharded`);
  const megabytes = numberOf(body.get('chunkSize'));
  const autoMerger = body.get('enableAutoMerger');
  if (megabytes === 0) await catalog.store.unset('collections', namespace, 'maxChunkSizeBytes');
  else if (megabytes !== undefined)
    await catalog.store.set('collections', namespace, doc(['maxChunkSizeBytes', Long.fromNumber(megabytes * 2 ** 20)]));
  if (typeof autoMerger === 'boolean')
    await catalog.store.set('collections', namespace, doc(['enableAutoMerge', autoMerger]));
  return new Map();
}

/** True before 6.0 while large chunks are split automatically. */
export function splitsByItself(config: ConfigDatabase): boolean {
  const bytes = config.findByKey('config.settings', doc(['_id', 'autosplit']));
  return bytes === undefined || scanPath(bytes, 'enabled') !== false;
}

/** True when a time of day lies in the window. A window whose end comes before its start spans midnight. */
export function inWindow({ activeWindow }: BalancerSettings, now: Date): boolean {
  if (activeWindow === undefined) return true;
  const [start, stop] = [minutesOf(activeWindow.start), minutesOf(activeWindow.stop)];
  const at = now.getHours() * 60 + now.getMinutes();
  if (start === undefined || stop === undefined || start === stop) return true;
  return start < stop ? at >= start && at <= stop : at >= start || at <= stop;
}

function minutesOf(time: string): number | undefined {
  const [, hours, minutes] = /^(\d{1,2}):(\d{2})$/.exec(time) ?? [];
  return hours === undefined ? undefined : Number(hours) * 60 + Number(minutes);
}
