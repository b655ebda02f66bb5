import { scanPath } from '../../bson/scan.js';
import { decodeDocument } from '../../bson/decode.js';
import type { Doc, Value } from '../../bson/value.js';
import { doc, docOf, isTrue, textOrEmpty } from '../../node/doc-fields.js';
import type { ShardAccess } from '../../shard/shard-access.js';

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
