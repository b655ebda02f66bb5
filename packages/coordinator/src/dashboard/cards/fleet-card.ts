import { byId, field, make, setAttribute, setList, setText } from '../page/dom.js';
import type { FleetMessage } from '../message.js';
import { fleetView, type LaneView } from '../views/fleet-view.js';
import { toneSigns } from '../views/tone.js';

/** The diagram of the fleet and the table of its instances. */
export function showFleet(message: FleetMessage): void {
  const view = fleetView(message);
  const card = byId('fleet');
  setText(field(card, 'source'), view.source);
  setText(field(card, 'destination'), view.destination);
  field(card, 'empty').hidden = view.lanes.length > 0;
  setList(field(card, 'lanes'), view.lanes, { key: ({ id }) => id, create: makeLane, update: showLane });
  setList(field(card, 'destinationShards'), view.destinationShards, { key: (id) => id, create: (id) => make('li', { class: 'shard' }, id), update: () => undefined });
  setText(byId('instance-count'), view.lanes.length === 0 ? '' : String(view.lanes.length));
  setList(byId('instance-rows'), view.lanes, { key: ({ id }) => id, create: makeRow, update: showRow });
}

function makeLane(): HTMLElement {
  const flow = (name: string): HTMLElement => make('span', { class: 'flow', 'data-field': name }, make('span', { class: 'rate', 'data-field': `${name}Rate` }));
  return make(
    'li',
    { class: 'lane' },
    make('span', { class: 'shard', 'data-field': 'shards' }),
    flow('copy'),
    make(
      'span',
      { class: 'instance' },
      make('span', { class: 'instance-head' }, make('strong', { 'data-field': 'id' }), make('span', { class: 'state', 'data-field': 'state' })),
      make('span', { class: 'instance-figures' }, make('span', { 'data-field': 'lag' }), make('span', { 'data-field': 'copied' })),
      make('span', { class: 'trouble', 'data-field': 'trouble' }),
    ),
    flow('apply'),
  );
}

function showLane(element: HTMLElement, lane: LaneView): void {
  setAttribute(element, 'data-tone', lane.tone);
  setText(field(element, 'shards'), lane.sourceShards);
  setText(field(element, 'copyRate'), lane.copyFlow);
  setText(field(element, 'applyRate'), lane.applyFlow);
  setAttribute(field(element, 'copy'), 'data-flows', lane.isCopying ? 'yes' : null);
  setAttribute(field(element, 'apply'), 'data-flows', lane.isApplying ? 'yes' : null);
  setText(field(element, 'id'), lane.leads ? `${lane.id} ★` : lane.id);
  setAttribute(field(element, 'id'), 'title', lane.leads ? 'leads the fleet' : null);
  setText(field(element, 'state'), `${toneSigns[lane.tone]} ${lane.state}`);
  setText(field(element, 'lag'), `lag ${lane.lag}`);
  setText(field(element, 'copied'), `${lane.copied} copied`);
  setText(field(element, 'trouble'), lane.trouble === '' ? '' : `▲ ${lane.trouble}`);
}

const columns = ['id', 'state', 'lag', 'copied', 'documents', 'copyRate', 'events', 'eventRate', 'partitions', 'buffers', 'pings'] as const;

function makeRow(): HTMLElement {
  const cells = columns.map((name) => (name === 'id' ? make('th', { scope: 'row', 'data-field': name }) : make('td', { 'data-field': name, class: name === 'state' ? undefined : 'number' })));
  return make('tr', {}, ...cells);
}

function showRow(element: HTMLElement, lane: LaneView): void {
  setAttribute(element, 'data-tone', lane.tone);
  for (const name of columns) setText(field(element, name), name === 'state' ? `${toneSigns[lane.tone]} ${lane.state}` : lane[name]);
}
