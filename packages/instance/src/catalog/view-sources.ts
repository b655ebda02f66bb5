import type { CatalogEntry } from './namespace.js';

/** Names in a view's database that it reads: its own source, and what its pipeline joins. */
interface ViewSources {
  /** Null for a collection. */
  viewOn: string | null;
  joined: ReadonlySet<string>;
}

/** @param view with its options as `decodeListedCollection` decodes them */
export function viewSources({ options }: Pick<CatalogEntry, 'options'>): ViewSources {
  const joined = new Set<string>();
  addJoined(options.pipeline, joined);
  return { viewOn: typeof options.viewOn === 'string' ? options.viewOn : null, joined };
}

function addJoined(value: unknown, names: Set<string>): void {
  if (Array.isArray(value)) value.forEach((inner) => addJoined(inner, names));
  if (!(value instanceof Map)) return;
  for (const [field, inner] of value as ReadonlyMap<string, unknown>) {
    const joined: unknown =
      JOIN_FIELDS[field] === undefined || !(inner instanceof Map) ? null : inner.get(JOIN_FIELDS[field]);
    for (const name of [joined, field === '$unionWith' ? inner : null]) if (typeof name === 'string') names.add(name);
    addJoined(inner, names);
  }
}

/** Stages that read another collection, with the field that names it; `$unionWith` may also be the name itself. */
const JOIN_FIELDS: Readonly<Record<string, string>> = { $lookup: 'from', $graphLookup: 'from', $unionWith: 'coll' };
