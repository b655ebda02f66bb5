import { Int32 } from 'bson';
import type { Doc, Value } from '../../bson/value.js';
import { CommandError } from '../../node/command.js';
import { numberOf } from '../../node/doc-fields.js';
import { documentText } from '../../bson/text.js';
import type { SeriesOptions } from './series-options.js';

/**
 * The description of an index on buckets for one on measurements: metadata by their place, the time by its bounds.
 * Throws CommandError 67 for an index on other fields (5.0 to 5.3).
 */
export function bucketIndexSpec(requested: Doc, options: SeriesOptions): Doc {
  const key = requested.get('key');
  if (!(key instanceof Map)) return requested;
  const spec: Doc = new Map(requested);
  if (!spec.has('name'))
    spec.set(
      'name',
      [...key]
        .map(([path, order]) => `${path}_${typeof order === 'string' ? order : String(numberOf(order) ?? '')}`)
        .join('_'),
    );
  return spec.set('key', new Map([...key].flatMap(([path, order]) => bucketFields(path, order, options, requested))));
}

function bucketFields(
  path: string,
  order: Value,
  { timeField, metaField }: SeriesOptions,
  requested: Doc,
): [string, Value][] {
  if (path === timeField) {
    const bounds: [string, Value][] = [
      [`control.min.${timeField}`, order],
      [`control.max.${timeField}`, order],
    ];
    return (numberOf(order) ?? 1) < 0 ? bounds.reverse() : bounds;
  }
  if (metaField !== undefined && (path === metaField || path.startsWith(`${metaField}.`)))
    return [[`meta${path.slice(metaField.length)}`, order]];
  throw new CommandError(
    67,
    'CannotCreateIndex',
    `Invalid index spec for time-series collection: ${documentText(requested)}. Indexes are only supported on the '${metaField ?? ''}' and '${timeField}' fields. Attempted to create an index on the field '${path}'.`,
  );
}

/** The description that a time-series collection shows of an index on its buckets; undefined for one that is none on measurements. */
export function seriesIndexSpec(spec: Doc, { timeField, metaField }: SeriesOptions): Doc | undefined {
  const key = spec.get('key');
  if (!(key instanceof Map)) return undefined;
  const fields: Doc = new Map();
  for (const [path, order] of key) {
    if (path === `control.min.${timeField}` || path === `control.max.${timeField}`) fields.set(timeField, order);
    else if (metaField !== undefined && (path === 'meta' || path.startsWith('meta.')))
      fields.set(`${metaField}${path.slice('meta'.length)}`, order);
    else return undefined;
  }
  return new Map<string, Value>([
    ['v', spec.get('v') ?? new Int32(2)],
    ['key', fields],
    ...[...spec].filter(([name]) => name !== 'v' && name !== 'key'),
  ]);
}
