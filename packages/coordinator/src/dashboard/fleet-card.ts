import { byId, field, make, setAttribute, setList, setText } from './dom.js';
import type { FleetMessage } from './message.js';
import { fleetRows, type InstanceRow } from './views/fleet-rows.js';
import { hotDocumentTexts } from './views/progress-texts.js';
import { hasBegun } from './views/state-view.js';
import { toneSigns } from './views/tone.js';

/** The diagram of the fleet and the table of its instances. */
export function showFleet(message: FleetMessage): void {
  const view = fleetRows(message);
  const card = byId('fleet');
  setText(field(card, 'source'), view.source);
  setText(field(card, 'destination'), view.destination);
  card.hidden = view.rows.length === 0;
  byId('instances').hidden = !hasBegun(message);
  setList(field(card, 'rows'), view.rows, { key: ({ id }) => id, create: makeInstanceRow, update: updateRow });
  setList(field(card, 'destinationShards'), view.destinationShards, {
    key: (id) => id,
    create: (id) => make('li', { class: 'shard' }, id),
    update: () => undefined,
  });
  setText(byId('instance-count'), view.rows.length === 0 ? '' : String(view.rows.length));
  setList(byId('hot-documents'), hotDocumentTexts(message.progress), {
    key: (text) => text,
    create: (text) => make('li', {}, text),
    update: () => undefined,
  });
  setList(byId('instance-rows'), view.rows, { key: ({ id }) => id, create: makeRow, update: showRow });
}

function makeInstanceRow(): HTMLElement {
  const flow = (name: string): HTMLElement =>
    make('span', { class: 'flow', 'data-field': name }, make('span', { class: 'rate', 'data-field': `${name}Rate` }));
  return make(
    'li',
    { class: 'row' },
    make('span', { class: 'shard', 'data-field': 'shards' }),
    flow('copy'),
    make(
      'span',
      { class: 'instance' },
      make(
        'span',
        { class: 'instance-head' },
        make('strong', { 'data-field': 'id' }),
        make('span', { class: 'state', 'data-field': 'state' }),
      ),
      make(
        'span',
        { class: 'instance-stats' },
        make('span', { 'data-field': 'lag' }),
        make('span', { 'data-field': 'copied' }),
      ),
      make('span', { class: 'trouble', 'data-field': 'trouble' }),
    ),
    flow('apply'),
  );
}

function updateRow(element: HTMLElement, row: InstanceRow): void {
  setAttribute(element, 'data-tone', row.tone);
  setText(field(element, 'shards'), row.sourceShards);
  setText(field(element, 'copyRate'), row.copyFlow);
  setText(field(element, 'applyRate'), row.applyFlow);
  setAttribute(field(element, 'copy'), 'data-flows', row.isCopying ? 'yes' : null);
  setAttribute(field(element, 'apply'), 'data-flows', row.isApplying ? 'yes' : null);
  setText(field(element, 'id'), row.leads ? `${row.id} ★` : row.id);
  setAttribute(field(element, 'id'), 'title', row.leads ? 'leader of the fleet' : null);
  setText(field(element, 'state'), `${toneSigns[row.tone]} ${row.state}`);
  setText(field(element, 'lag'), row.lag === '–' ? '' : `lag ${row.lag}`);
  setText(field(element, 'copied'), row.copied === '–' ? '' : `${row.copied} copied`);
  setText(field(element, 'trouble'), row.trouble === '' ? '' : `▲ ${row.trouble}`);
}

const columns = [
  'id',
  'state',
  'lag',
  'copied',
  'documents',
  'copyRate',
  'events',
  'eventRate',
  'partitions',
  'buffers',
  'pings',
] as const;

function makeRow(): HTMLElement {
  const cells = columns.map((name) =>
    name === 'id'
      ? make('th', { scope: 'row', 'data-field': name })
      : make('td', { 'data-field': name, class: name === 'state' ? undefined : 'number' }),
  );
  return make('tr', {}, ...cells);
}

function showRow(element: HTMLElement, row: InstanceRow): void {
  setAttribute(element, 'data-tone', row.tone);
  for (const name of columns)
    setText(field(element, name), name === 'state' ? `${toneSigns[row.tone]} ${row.state}` : row[name]);
}
