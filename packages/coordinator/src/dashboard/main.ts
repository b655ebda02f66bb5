import type { History } from '@convoy/api/contract/history';
import type { PublishedDetails } from '@convoy/api/fleet/published-details';
import { ChartsCard } from './charts-card.js';
import { ConfirmDialog } from './confirm-dialog.js';
import { showCommands, showCutOver } from './cut-over-card.js';
import { byId, field, setAttribute, setText } from './dom.js';
import { type ApiFailure, FleetApi } from './fleet-api.js';
import { showFleet } from './fleet-card.js';
import { FleetStream } from './fleet-stream.js';
import type { CommandView, FleetMessage } from './message.js';
import { MismatchesCard } from './mismatches-card.js';
import { NamespacesCard } from './namespaces-card.js';
import { Announcer, offerReport, useTheme } from './page-tools.js';
import {
  InventoryCard,
  LogsCard,
  showIndexes,
  showOptions,
  showPreflight,
  showTimeline,
  showVerifier,
  showWarnings,
} from './small-cards.js';
import { StartCard } from './start-card.js';
import { showState } from './state-card.js';
import { type ActionView, cutOverView, reverseRefusal, startAction } from './views/cut-over-view.js';
import { durationText } from './views/quantity.js';

/** Interval of reading data outside the stream while the page is visible. */
const refresh_ms = 3_000;
/** Maximum measurements of updates in the browser. */
const updatesMax = 600;

const api = new FleetApi();
const charts = new ChartsCard();
const namespaces = new NamespacesCard(api);
const mismatches = new MismatchesCard(api);
const logs = new LogsCard(api);
const inventory = new InventoryCard(api);
const announcer = new Announcer(byId('announcements'));
const dialog = new ConfirmDialog(send);
const start = new StartCard(api, (body) => dialog.ask(startAction, body));

let latest: FleetMessage | null = null;
let heardAt_ms = 0;
let isLive = false;
/** Null until the service has replied; the service itself rejects forbidden commands. */
let mayCommand: boolean | null = null;
let isReading = false;
let commandsShown = -1;
let updatesMeasured = 0;
let commandsSent: readonly CommandView[] = [];
let needsToken = false;

async function send(action: ActionView, body: unknown): Promise<void> {
  try {
    await api.command(action.name, body);
  } finally {
    await readCommands().catch(() => undefined);
  }
}

async function readCommands(): Promise<void> {
  const { commands } = await api.read<{ commands: CommandView[] }>('/api/v1/commands');
  commandsSent = commands;
  showCommands(commands);
  showActions();
}

/** What to do next, for the current data. */
function showActions(): void {
  if (latest === null) return;
  const view = cutOverView(latest, mayCommand !== false, isLive, reverseRefusal(latest, commandsSent));
  const canStart = view.primary?.name === 'start';
  byId('cut-over').hidden = canStart;
  const states = Object.values(latest.instances).map(({ state }) => state ?? 'IDLE');
  start.show(
    canStart,
    states.some((state) => state !== 'IDLE'),
  );
  if (!canStart) showCutOver(view, (action) => dialog.ask(action));
}

/** Links to the parts that the page has now. */
function showParts(): void {
  for (const link of document.querySelectorAll<HTMLAnchorElement>('.top nav a'))
    link.hidden = byId(link.hash.slice(1)).hidden;
}

function showMessage(message: FleetMessage): void {
  const started_ms = performance.now();
  latest = message;
  heardAt_ms = performance.now();
  if (!isLive) {
    isLive = true;
    needsToken = false;
    byId('token-form').hidden = true;
    mayCommand = null;
    refresh();
  }
  const state = showState(message);
  showFleet(message);
  byId('report').hidden = Object.keys(message.instances).length === 0;
  showActions();
  showWarnings(message);
  showIndexes(message);
  showVerifier(message);
  showOptions(message);
  announcer.follow(message, state);
  document.title = `${state.number === '–' ? '' : `${state.number} · `}${state.state} · Convoy`;
  if (message.commandsSent !== commandsShown) {
    commandsShown = message.commandsSent;
    void readCommands().catch(() => undefined);
  }
  showParts();
  showLink();
  measureUpdate(started_ms);
}

/** Measures updates, for analysis; a page that is open for days keeps only the last ones. */
function measureUpdate(started_ms: number): void {
  if (updatesMeasured >= updatesMax) {
    performance.clearMeasures('update');
    updatesMeasured = 0;
  }
  updatesMeasured += 1;
  performance.measure('update', { start: started_ms });
}

async function readAccess(): Promise<void> {
  if (mayCommand !== null) return;
  ({ mayCommand } = await api.read<{ mayCommand: boolean }>('/api/v1/access'));
}

function lost(failure: ApiFailure | null): void {
  isLive = false;
  needsToken = failure?.status === 401;
  if (needsToken) askForToken();
  showActions();
  showLink();
}

/** Before the first data the card of the state says what the page waits for. */
function askForToken(): void {
  byId('token-form').hidden = false;
  setText(
    byId('token-text'),
    api.hasToken
      ? 'The service does not accept this token. Enter another one.'
      : 'This service requires a token: its token, or its viewToken to look only.',
  );
  if (latest === null) setText(field(byId('state'), 'phase'), 'Waiting for a token.');
}

/** Shows the age of the data, unless it is current. */
function showLink(): void {
  const link = byId('link');
  const age_seconds = Math.floor((performance.now() - heardAt_ms) / 1000);
  const isFresh = isLive && age_seconds < 4;
  const hears = latest?.isConnected !== false;
  setAttribute(link, 'data-tone', latest === null && !needsToken ? 'off' : isFresh && hears ? 'good' : 'bad');
  setAttribute(document.body, 'data-stale', isFresh ? null : 'yes');
  if (isFresh) setText(link, hears ? '● Live' : '▲ Live without Redis: last known values');
  else setText(link, linkText(age_seconds));
}

function linkText(age_seconds: number): string {
  if (needsToken) return '✕ Needs a token';
  return latest === null ? '◌ Connecting …' : `✕ Stale: last update ${durationText(age_seconds)} ago, connecting …`;
}

/**
 * Reads the data outside the stream. The next call retries what failed, and a slow service gets one request at a time.
 */
function refresh(): void {
  if (document.hidden || !isLive || isReading) return;
  isReading = true;
  readBeside()
    .catch(() => undefined)
    .finally(() => (isReading = false));
}

async function readBeside(): Promise<void> {
  const [history, reports] = await Promise.all([
    api.read<{ history: History | null }>('/api/v1/history'),
    api.read<{ reports: Record<string, PublishedDetails['preflight']> }>('/api/v1/preflight'),
    namespaces.refresh(),
    mismatches.refresh(),
    logs.refresh(),
    readAccess(),
  ]);
  const started_ms = performance.now();
  // The leader first has to read both clusters.
  void inventory.refresh(start.carried, latest?.progress.state ?? '').catch(() => undefined);
  showPreflight(reports.reports);
  showActions();
  if (history.history !== null) {
    charts.show(history.history.points);
    showTimeline(history.history);
  }
  showParts();
  measureUpdate(started_ms);
}

byId('token-form').addEventListener('submit', (event) => {
  event.preventDefault();
  const input = byId('token');
  if (input instanceof HTMLInputElement) {
    api.useToken(input.value);
    input.value = '';
  }
});
offerReport(byId('report'), api);
useTheme(byId('theme'), () => charts.rebuild());
setInterval(showLink, 1_000);
setInterval(refresh, refresh_ms);
document.addEventListener('visibilitychange', refresh);
charts.open().then(refresh, () => undefined);
void new FleetStream(api, { message: showMessage, lost }).run();
