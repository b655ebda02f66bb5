import type { Mismatch } from '@convoy/api/contract/mismatch';
import { byId, field, make, setList, setText } from '../page/dom.js';
import { ApiFailure, type FleetApi } from '../page/fleet-api.js';

/** Rows asked for. */
const rowsMax = 50;

/** What the verifier has found to differ, asked for only while it is unfolded. */
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
        error.status === 404
          ? 'This release does not tell of mismatches here; compare with convoy verify.'
          : error.message,
      );
    }
  }

  #show(mismatches: readonly Mismatch[], refusal: string | null = null): void {
    const shown =
      mismatches.length < rowsMax
        ? `▲ ${mismatches.length} known.`
        : `▲ The first ${rowsMax} are shown; convoy tells the rest.`;
    setText(field(this.#details, 'count'), refusal ?? (mismatches.length === 0 ? '✓ None is known.' : shown));
    setList(field(this.#details, 'list'), mismatches, {
      key: (one) => JSON.stringify(one),
      create: (one) => make('li', {}, mismatchText(one)),
      update: () => undefined,
    });
  }
}

/** Paths named of one document; the rest is counted. */
const pathsNamedMax = 5;

/** A mismatch in words: what it is about, and never what a document holds, its `_id` included. */
export function mismatchText({
  namespace,
  kind,
  paths,
  detail,
  looks,
  proven,
  firstSeen,
}: Pick<Mismatch, 'namespace' | 'kind' | 'paths' | 'detail' | 'looks' | 'proven' | 'firstSeen'>): string {
  const named = paths.slice(0, pathsNamedMax).map((one) => `${one.path === '' ? 'the whole' : one.path} ${one.kind}`);
  const more = paths.length > pathsNamedMax ? [`${paths.length - pathsNamedMax} more`] : [];
  const what = [...named, ...more, ...(detail === null ? [] : [detail])].join(', ');
  return `${namespace}: ${kind}${what === '' ? '' : ` (${what})`}, since ${firstSeen}, seen ${looks} times, ${proven ? 'proven' : 'perhaps a change on its way'}`;
}
