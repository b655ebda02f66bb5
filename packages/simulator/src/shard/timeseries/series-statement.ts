import type { Doc, Value } from '../../bson/value.js';
import { CommandError } from '../../node/command.js';
import { failure } from '../failure.js';
import type { UpdateStatement } from '../write/update-statement.js';
import type { SeriesOptions } from './series-options.js';

/**
 * The filter of a delete on measurements as a filter on buckets. Before 7.0 measurements are deleted by whole buckets.
 * Throws CommandError 20 for a delete of one, 72 for a filter on anything but the metadata.
 */
export function bucketDeleteFilter(filter: Doc, limit: number, { metaField }: SeriesOptions): Doc {
  if (metaField === undefined && filter.size > 0) {
    throw failure.invalidOptions(
      'Cannot perform a delete with a non-empty query on a time-series collection that does not have a metaField',
    );
  }
  if (limit === 1)
    throw new CommandError(20, 'IllegalOperation', 'Cannot perform a non-multi delete on a time-series collection');
  return metaField === undefined ? filter : bucketFilter(filter, metaField);
}

/**
 * An update of measurements as an update of buckets: only their metadata may change.
 * Throws CommandError 72 for anything else.
 */
export function bucketUpdate(statement: UpdateStatement, { metaField }: SeriesOptions): UpdateStatement {
  if (!statement.multi) throw failure.invalidOptions('Cannot perform a non-multi update on a time-series collection');
  if (statement.upsert) throw failure.invalidOptions('Cannot perform an upsert on a time-series collection');
  if (metaField === undefined)
    throw failure.invalidOptions('Cannot perform an update on a time-series collection that does not have a metaField');
  const { modification } = statement;
  if (modification.kind !== 'operators') {
    throw failure.invalidOptions(
      modification.kind === 'replacement'
        ? 'Cannot perform a replacement update on a time-series collection'
        : 'Cannot perform an update on a time-series collection using a pipeline update',
    );
  }
  const operators: Doc = new Map(
    [...modification.operators].map(([operator, fields]) => [operator, bucketFields(fields, metaField)]),
  );
  return {
    ...statement,
    filter: bucketFilter(statement.filter, metaField),
    modification: { kind: 'operators', operators },
  };
}

function bucketFields(fields: Value, metaField: string): Value {
  if (!(fields instanceof Map)) return fields;
  return new Map(
    [...fields].map(([path, operand]) => {
      const renamed = bucketPath(path, metaField);
      if (renamed === undefined)
        throw failure.invalidOptions(
          `Cannot perform an update on a time-series collection which updates a field that is not the metaField '${metaField}'`,
        );
      return [renamed, operand];
    }),
  );
}

function bucketFilter(filter: Doc, metaField: string): Doc {
  return new Map(
    [...filter].map(([name, operand]) => {
      if (LOGICAL.has(name) && Array.isArray(operand)) {
        return [name, operand.map((part) => (part instanceof Map ? bucketFilter(part, metaField) : part))];
      }
      const path = bucketPath(name, metaField);
      if (path !== undefined) return [path, operand];
      throw failure.invalidOptions(
        `Cannot perform an update or delete on a time-series collection when querying on a field that is not the metaField '${metaField}'`,
      );
    }),
  );
}

const LOGICAL: ReadonlySet<string> = new Set(['$and', '$or', '$nor']);

/** Where a bucket holds what measurements have at this path; undefined outside of the metadata. */
function bucketPath(path: string, metaField: string): string | undefined {
  if (path === metaField) return 'meta';
  return path.startsWith(`${metaField}.`) ? `meta${path.slice(metaField.length)}` : undefined;
}
