import type { PublishedDetails } from '@convoy/api/fleet/published-details';
import type { FleetMessage } from '../message.js';
import { byId, field, make, setList, setText } from '../page/dom.js';
import { showItems } from './findings.js';
import { countText, dateTimeText } from '../views/quantity.js';
import { hasBegun } from '../views/state-view.js';
import { verdictOf } from '../views/verdict.js';
import { verifierView } from '../views/verifier-view.js';
import { warningViews } from '../views/warning-view.js';

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
