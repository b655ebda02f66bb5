import { type CatalogEntry, namespaceOf } from './namespace.js';
import { ConvoyError, isConvoyError } from '@convoy/api/errors/convoy-error';
import { classify, codeOf, failureName, noQueryPlanCode, serverErrorCode } from '../cluster/failure.js';

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

/** What says nothing about a definition; SearchNotEnabled (31082): of views of `$search` that cannot run here. */
const otherCodes: ReadonlySet<number | null> = new Set([
  null,
  serverErrorCode.namespaceExists,
  noQueryPlanCode,
  31_082,
]);

/** Whether a server refuses the definition of a view. */
export function isViewRefusal(error: unknown): boolean {
  return classify(error) === 'fatal' && !otherCodes.has(codeOf(error));
}

/** The failure of a view that the destination refuses, with its name; any other as it is. */
export function namingView(entry: CatalogEntry, failure: unknown): unknown {
  if (entry.type !== 'view' || !isViewRefusal(failure)) return failure;
  return new ConvoyError(
    'viewNotSupported',
    `The destination refuses the view ${namespaceOf(entry)}: ${failureName(failure)}. Correct or drop it on the ` +
      'source, or exclude it.',
    { cause: failure },
  );
}

/** Whether a view is in the way that somebody can correct while the migration goes on. */
export function isRefusedView(error: unknown): error is ConvoyError {
  return isConvoyError(error, 'viewNotSupported');
}
