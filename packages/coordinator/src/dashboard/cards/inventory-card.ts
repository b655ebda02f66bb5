import type { Inventory, InventoryReply } from '@convoy/api/contract/inventory';
import type { FleetApi } from '../page/fleet-api.js';
import { byId, field, make, setList, setText } from '../page/dom.js';
import { inventoryCells, inventorySummary } from '../views/inventory-view.js';

/** The clusters change slowly, and each reading takes commands on both. */
const refresh_ms = 60_000;

const columns = ['source', 'destination', 'action', 'description'] as const;

/** The table of what both clusters have besides data. */
export class InventoryCard {
  readonly #card = byId('inventory');
  #readAt_ms = -Infinity;

  constructor(private readonly api: FleetApi) {}

  /** Reads it again if it is old. */
  async refresh(): Promise<void> {
    if (performance.now() - this.#readAt_ms < refresh_ms) return;
    this.#readAt_ms = performance.now();
    const { inventory } = await this.api.readSlowly<InventoryReply>('/api/v1/inventory');
    this.#show(inventory);
  }

  #show(inventory: Inventory): void {
    this.#card.hidden = inventory.rows.length === 0;
    setText(field(this.#card, 'summary'), inventorySummary(inventory));
    setText(field(this.#card, 'source-name'), `On ${inventory.source}`);
    setText(field(this.#card, 'destination-name'), `On ${inventory.destination}`);
    setList(field(this.#card, 'rows'), inventory.rows, {
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
      },
    });
  }
}
