import type { Mismatch } from '@convoy/api/contract/mismatch';
import { byId, field, make, setList, setText } from './dom.js';
import { ApiFailure, type FleetApi } from './fleet-api.js';
import { bothNames } from './views/remap-text.js';

/** Maximum rows to request. */
const rowsMax = 50;

/** The verifier's mismatches, requested only while the list is open. */
export class MismatchesCard {
  readonly #details: HTMLDetailsElement;

  constructor(private readonly api: FleetApi) {
    this.#details = byId('mismatches') as HTMLDetailsElement;
    this.#details.addEventListener('toggle', () => void this.refresh().catch(() => undefined));
  }

  async refresh(): Promise<void> {
    if (!this.#details.open) return;
    try {
      this.#show(await this.api.readLines<Mismatch>(`/api/v1/verification/mismatches?limit=${rowsMax}`));
    } catch (error) {
      if (!(error instanceof ApiFailure)) throw error;
      this.#show(
        [],
        error.status === 404 ? 'This release does not list mismatches. Compare with convoy verify.' : error.message,
      );
    }
  }

  #show(mismatches: readonly Mismatch[], refusal: string | null = null): void {
    const shown =
      mismatches.length < rowsMax
        ? `▲ ${mismatches.length} known.`
        : `▲ The first ${rowsMax}. The API lists all: GET /api/v1/verification/mismatches.`;
    setText(field(this.#details, 'count'), refusal ?? (mismatches.length === 0 ? '✓ No known mismatches.' : shown));
    setList(field(this.#details, 'list'), mismatches, {
      key: (one) => JSON.stringify(one),
      create: (one) => make('li', {}, mismatchText(one)),
      update: () => undefined,
    });
  }
}

/** Maximum paths named per document; the rest is counted. */
const pathsNamedMax = 5;

/** A mismatch as text: its topic, but no content of a document, not even its `_id`. */
export function mismatchText({
  namespace,
  destination,
  kind,
  paths,
  detail,
  looks,
  proven,
  firstSeen,
}: Pick<
  Mismatch,
  'namespace' | 'destination' | 'kind' | 'paths' | 'detail' | 'looks' | 'proven' | 'firstSeen'
>): string {
  const named = paths
    .slice(0, pathsNamedMax)
    .map((one) => `${one.path === '' ? 'the document' : one.path} ${one.kind}`);
  const more = paths.length > pathsNamedMax ? [`${paths.length - pathsNamedMax} more`] : [];
  const what = [...named, ...more, ...(detail === null ? [] : [detail])].join(', ');
  const status = proven ? 'proven' : 'possibly a pending change';
  const names = bothNames(namespace, destination);
  return `${names}: ${kind}${what === '' ? '' : ` (${what})`}, since ${firstSeen}, seen ${looks} times, ${status}`;
}
