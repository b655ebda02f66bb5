import type { History, TimelineEntry } from '@convoy/api/contract/history';
import type { Inventory, InventoryAction, InventoryReply } from '@convoy/api/contract/inventory';
import type { FleetLogRecord } from '@convoy/api/contract/log-record';
import type { PublishedDetails } from '@convoy/api/fleet/published-details';
import { byId, field, make, setAttribute, setList, setText } from './dom.js';
import { showItems } from './findings.js';
import type { FleetApi } from './fleet-api.js';
import type { FleetMessage } from './message.js';
import { inventoryCells, type InventoryPart, inventoryParts, inventorySummary } from './views/inventory-view.js';
import { logView } from './views/log-view.js';
import { optionViews } from './views/options-view.js';
import { countText, dateTimeText } from './views/quantity.js';
import { verifierView, warningViews } from './views/small-views.js';
import { hasBegun } from './views/state-view.js';
import { verdictOf } from './views/verdict.js';

/** Warnings with advice. */
export function showWarnings(message: FleetMessage): void {
  const views = warningViews(message);
  const card = byId('warnings');
  card.hidden = views.length === 0;
  setText(byId('warning-count'), views.length === 0 ? '' : String(views.length));
  setList(field(card, 'list'), views, {
    key: ({ name, description }) => `${name} ${description}`,
    create: ({ name, description, advice }) =>
      make(
        'li',
        {},
        make('strong', {}, `▲ ${name}`),
        make('p', {}, description),
        ...(advice === '' ? [] : [make('p', { class: 'advice' }, `→ ${advice}`)]),
      ),
    update: () => undefined,
  });
}

/** Progress of the index builds. */
export function showIndexes({ progress }: FleetMessage): void {
  const card = byId('indexes');
  const builds = progress.indexBuilding;
  card.hidden = builds === null;
  if (builds === null) return;
  setText(field(card, 'indexes'), `${countText(builds.indexesBuilt)} of ${countText(builds.totalIndexesToBuild)}`);
  setText(
    field(card, 'collections'),
    `${countText(builds.collectionsFinished)} of ${countText(builds.collectionsTotal)}`,
  );
  const { indexesBuilt, totalIndexesToBuild } = builds;
  const part = totalIndexesToBuild === 0 ? 100 : (indexesBuilt / totalIndexesToBuild) * 100;
  const fill = field(card, 'bar').firstElementChild;
  if (fill instanceof HTMLElement) fill.style.width = `${part}%`;
  setText(
    field(card, 'note'),
    part >= 100
      ? '✓ Built. Unique and TTL indexes take their final form at the commit.'
      : 'Building on the destination.',
  );
}

/** Both sides of the verifier. */
export function showVerifier(message: FleetMessage): void {
  const card = byId('verifier');
  const sides = verifierView(message);
  const verdict = verdictOf(message);
  setText(field(card, 'verdict'), sides === null ? '' : verdict.text);
  card.hidden = !hasBegun(message);
  field(card, 'off').hidden = sides !== null;
  field(card, 'table').hidden = sides === null;
  setList(field(card, 'rows'), sides ?? [], {
    key: ({ side }) => side,
    create: ({ side }) =>
      make(
        'tr',
        {},
        make('th', { scope: 'row' }, side),
        ...['phase', 'documents', 'collections', 'lag'].map((name) =>
          make('td', { 'data-field': name, class: name === 'phase' ? undefined : 'number' }),
        ),
      ),
    update: (row, one) => {
      for (const name of ['phase', 'documents', 'collections', 'lag'] as const) setText(field(row, name), one[name]);
    },
  });
}

/** The latest preflight checks of any instance. */
export function showPreflight(reports: Readonly<Record<string, PublishedDetails['preflight']>>): void {
  const card = byId('preflight');
  const latest = Object.entries(reports).sort(([, a], [, b]) => b.at_ms - a.at_ms)[0];
  card.hidden = latest === undefined;
  if (latest === undefined) return;
  const [id, report] = latest;
  setText(
    field(card, 'from'),
    `${report.canStart ? '✓ No check failed' : '✕ The start was rejected'} (${id}, ${dateTimeText(report.at_ms)})`,
  );
  showItems(field(card, 'list'), report.items);
}

/** The options in force, as recorded at the start. */
export function showOptions({ progress }: FleetMessage): void {
  const card = byId('options');
  const views = optionViews(progress.options);
  card.hidden = views.length === 0;
  setList(field(card, 'list'), views, {
    key: ({ name }) => name,
    create: ({ name }) => make('div', {}, make('dt', {}, name), make('dd', {})),
    update: (element, { value }) => setText(element.lastElementChild ?? element, value),
  });
}

const signs: Readonly<Record<TimelineEntry['level'], string>> = { info: '•', good: '✓', warning: '▲', bad: '✕' };

/** The timeline, newest first. */
export function showTimeline({ timeline, entriesDropped }: History): void {
  const card = byId('timeline');
  card.hidden = timeline.length === 0;
  setText(
    field(card, 'dropped'),
    entriesDropped === 0 ? '' : `${entriesDropped} entries in the middle are not stored.`,
  );
  const numbered = timeline.map((entry, at) => ({ entry, key: `${entry.at_ms} ${entry.text} ${at}` }));
  setList(field(card, 'list'), numbered.toReversed(), {
    key: ({ key }) => key,
    create: ({ entry }) =>
      make(
        'li',
        { 'data-tone': entry.level },
        make('time', { datetime: new Date(entry.at_ms).toISOString() }, dateTimeText(entry.at_ms)),
        make('span', { class: 'sign', 'aria-hidden': 'true' }, signs[entry.level]),
        make('span', {}, entry.text),
      ),
    update: () => undefined,
  });
}

/** Records on the page; `convoy logs` has more. */
const shown = 50;

/** The last warnings and errors in the logs of all processes, newest first. */
export class LogsCard {
  constructor(private readonly api: FleetApi) {}

  async refresh(): Promise<void> {
    const { logs } = await this.api.read<{ logs: FleetLogRecord[] }>(`/api/v1/logs?limit=${shown}`);
    const card = byId('logs');
    card.hidden = logs.length === 0;
    setText(byId('log-count'), logs.length === 0 ? '' : String(logs.length));
    setList(field(card, 'list'), logs.toReversed().map(logView), {
      key: ({ id }) => id,
      create: ({ at, tone, level, from, event, text }) =>
        make(
          'li',
          { 'data-tone': tone },
          make('p', {}, make('strong', {}, `${tone === 'bad' ? '✕' : '▲'} ${event}`), ` ${level} · ${from} · ${at}`),
          make('p', {}, text),
        ),
      update: () => undefined,
    });
  }
}

/** The clusters change slowly, and each reading takes commands on both. */
const refresh_ms = 60_000;

/** The outcome first: a phone shows three columns. */
const columns = ['action', 'source', 'destination', 'description'] as const;
/** What somebody may have to do something about. */
const undone: ReadonlySet<InventoryAction> = new Set(['leftBehind', 'differs', 'notReadable']);

/** The table of what both clusters have besides data, and that of a reverse where one is possible. */
export class InventoryCard {
  readonly #card = byId('inventory');
  #readAt_ms = -Infinity;
  #asked = '';

  constructor(private readonly api: FleetApi) {
    this.#addTable('forward', 'inventory-title');
    this.#addTable('back', 'inventory-back-title');
  }

  /** Both directions have the same empty table, of the card's template. */
  #addTable(part: 'forward' | 'back', titleId: string): void {
    const empty = this.#card.querySelector('template')?.content.cloneNode(true);
    if (empty !== undefined) field(this.#card, part).append(empty);
    field(field(this.#card, part), 'region').setAttribute('aria-labelledby', titleId);
  }

  /**
   * Reads it again if it is old, or if it is now another one.
   * @param carried what a start would carry: with a migration the service knows that by itself
   * @param state of the migration, which changes what is there
   */
  async refresh(carried: readonly string[], state: string): Promise<void> {
    const query = carried.length === 0 ? '' : `?carry=${carried.join()}`;
    const asked = `${state} ${query}`;
    if (asked === this.#asked && performance.now() - this.#readAt_ms < refresh_ms) return;
    this.#asked = asked;
    this.#readAt_ms = performance.now();
    const { inventory } = await this.api.readSlowly<InventoryReply>(`/api/v1/inventory${query}`);
    // An answer to a question of before says nothing any more.
    if (asked === this.#asked) this.#show(inventory);
  }

  #show(inventory: Inventory): void {
    const { forward, back } = inventoryParts(inventory);
    this.#card.hidden = forward.table.rows.length === 0;
    showTable(field(this.#card, 'forward'), forward);
    field(this.#card, 'back').hidden = back === null;
    if (back !== null) showTable(field(this.#card, 'back'), back);
  }
}

function showTable(part: HTMLElement, { table, source, destination }: InventoryPart): void {
  setText(field(part, 'summary'), inventorySummary(table));
  setText(field(part, 'source-name'), `On ${source}`);
  setText(field(part, 'destination-name'), `On ${destination}`);
  setList(field(part, 'rows'), table.rows, {
    key: ({ kind, name }) => `${kind} ${name}`,
    create: (row) => {
      const { kind, name } = inventoryCells(row);
      return make(
        'tr',
        {},
        make('td', {}, kind),
        make('th', { scope: 'row', class: 'name', title: name }, name),
        ...columns.map((column) => make('td', { 'data-field': column })),
      );
    },
    update: (element, row) => {
      const cells = inventoryCells(row);
      for (const column of columns) setText(field(element, column), cells[column]);
      setAttribute(element, 'data-tone', undone.has(row.action) ? 'warning' : null);
    },
  });
}
