import { byId, field, make, setList, setText } from './dom.js';
import type { FleetApi } from './fleet-api.js';
import type { NamespacesReply, NamespaceView } from './message.js';
import { bytesText, countText, percentText } from './views/quantity.js';
import { bothNames } from './views/remap-text.js';

const pageRows = 25;

/** The table of collections, loaded page by page. */
export class NamespacesCard {
  readonly #card = byId('namespaces');
  #offset = 0;
  #matching = 0;

  constructor(private readonly api: FleetApi) {
    this.#search.addEventListener('input', () => this.#goTo(0));
    this.#sort.addEventListener('change', () => this.#goTo(0));
    field(this.#card, 'previous').addEventListener('click', () => this.#goTo(this.#offset - pageRows));
    field(this.#card, 'next').addEventListener('click', () => this.#goTo(this.#offset + pageRows));
  }

  /** Reloads the current page. */
  async refresh(): Promise<void> {
    const query = new URLSearchParams({
      offset: String(this.#offset),
      limit: String(pageRows),
      search: this.#search.value.trim(),
      sort: this.#sort.value,
    });
    const reply = await this.api.read<NamespacesReply>(`/api/v1/namespaces?${query.toString()}`);
    this.#matching = reply.matching;
    this.#card.hidden = reply.total === 0;
    setList(field(this.#card, 'rows'), reply.rows, {
      key: ({ namespace, destination }) => bothNames(namespace, destination),
      create: makeRow,
      update: showRow,
    });
    setText(field(this.#card, 'shown'), shownText(reply));
    this.#button('previous').disabled = reply.offset === 0;
    this.#button('next').disabled = reply.offset + reply.rows.length >= reply.matching;
  }

  get #search(): HTMLInputElement {
    return field(this.#card, 'search') as HTMLInputElement;
  }

  get #sort(): HTMLSelectElement {
    return field(this.#card, 'sort') as HTMLSelectElement;
  }

  #button(name: string): HTMLButtonElement {
    return field(this.#card, name) as HTMLButtonElement;
  }

  #goTo(offset: number): void {
    this.#offset = Math.max(0, Math.min(offset, Math.max(0, this.#matching - 1)));
    if (offset === 0) this.#offset = 0;
    void this.refresh().catch(() => undefined);
  }
}

/** How many collections are shown, and the sums of the rest. */
export function shownText({ total, matching, offset, rows, others }: NamespacesReply): string {
  if (total === 0) return 'No collections yet.';
  if (rows.length === 0) return `None of ${countText(total)} collections matches.`;
  const searched = matching === total ? '' : ` matches, ${countText(total)} in total`;
  const shown = `${countText(offset + 1)} to ${countText(offset + rows.length)} of ${countText(matching)}${searched}`;
  if (others.collections === 0) return `${shown}.`;
  const copied = `${bytesText(others.copiedBytes)} of ${bytesText(others.totalBytes)}`;
  const rest = `${copied}, ${countText(others.copiedDocuments)} documents`;
  return `${shown}. The other ${countText(others.collections)}: ${rest}.`;
}

const columns = ['documents', 'size', 'part', 'partitions'] as const;

function makeRow({ namespace, destination }: NamespaceView): HTMLElement {
  const names = bothNames(namespace, destination);
  return make(
    'tr',
    {},
    make('th', { scope: 'row', class: 'name', title: names }, names),
    ...columns.map((name) => make('td', { 'data-field': name, class: 'number' })),
  );
}

function showRow(row: HTMLElement, view: NamespaceView): void {
  const { totalBytes, copiedBytes, copiedDocuments, partitions } = view;
  const { waiting, starting, copying } = partitions;
  const isDone = waiting + starting + copying === 0;
  const texts = {
    part: isDone ? '✓ copied' : percentText(totalBytes === 0 ? null : Math.min(99.9, (copiedBytes / totalBytes) * 100)),
    documents: countText(copiedDocuments),
    size: isDone ? bytesText(totalBytes) : `${bytesText(copiedBytes)} of ${bytesText(totalBytes)}`,
    partitions: `${partitionsText(partitions)}${orderMark(view)}`,
  };
  for (const name of columns) setText(field(row, name), texts[name]);
  field(row, 'partitions').title = orderTitle(view);
}

/** In which order the collection is copied, if an option asks for another one than that of `_id`. */
function orderTitle({ copyOrders = [] }: NamespaceView): string {
  return copyOrders.map(({ description }) => description).join(' ');
}

function orderMark({ copyOrders = [] }: NamespaceView): string {
  return copyOrders.some(({ order }) => order === 'natural') ? ', natural order' : '';
}

function partitionsText({ waiting, starting, copying, done }: NamespaceView['partitions']): string {
  const active = starting + copying;
  const all = waiting + active + done;
  return `${countText(done)} of ${countText(all)}${active === 0 ? '' : `, ${countText(active)} active`}`;
}
