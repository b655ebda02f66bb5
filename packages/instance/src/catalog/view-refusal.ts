import { ConvoyError, isConvoyError } from '@convoy/api/errors/convoy-error';
import { classify, codeOf, failureName, noQueryPlanCode, serverErrorCode } from '../cluster/failure.js';
import { type CatalogEntry, namespaceOf } from './namespace.js';

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
