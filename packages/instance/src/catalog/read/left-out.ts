import { nameSome } from '../name-some.js';
import { namespaceOf } from '../namespace.js';
import { viewSources } from '../view-sources.js';
import type { CatalogReport } from './read-catalog.js';

/** Name of the warning about time series that appeared while a migration runs. */
export const timeSeriesWarning = 'timeSeriesLeftOut';

/**
 * What a migration leaves out of a source that it follows: time series that somebody has created since the start, and
 * what views read of them. The views themselves are migrated.
 * @returns null if there is none
 */
export function describeLeftOut({ timeSeries, catalog }: Pick<CatalogReport, 'timeSeries' | 'catalog'>): string | null {
  if (timeSeries.length === 0) return null;
  const series = new Set(timeSeries);
  const blind = catalog.filter((view) => {
    if (view.type !== 'view') return false;
    const { viewOn, joined } = viewSources(view);
    return [viewOn, ...joined].some((name) => series.has(`${view.database}.${String(name)}`));
  });
  const views =
    blind.length === 0 ? '' : `These views lack on the destination what they read of them: ${nameViews(blind)}. `;
  return (
    `Time-series collections were created on the source since the start, and are not migrated: ` +
    `${nameSome(timeSeries)}. ${views}Change streams do not show their changes. Move them with mongodump and ` +
    'mongorestore once the writers have stopped.'
  );
}

function nameViews(views: CatalogReport['catalog']): string {
  return nameSome(views.map(namespaceOf));
}
