import { Migration } from '@convoy/cli/demo/migration';
import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Closers } from '@convoy/testbed/closers';
import { ScratchFolder } from '@convoy/testbed/process/scratch-folder';
import { emptyQueries, evaluatePanels, valuesOf } from './board.js';
import { conditions } from './conditions.js';
import { MonitoredFleet } from './monitored-fleet.js';
import { drawBoard } from './picture.js';
import { hasPrometheus, Prometheus } from './prometheus.js';
import { documentFor_seconds, readRules } from './rules.js';
import { now_seconds, type Outcome, tryCondition } from './try.js';

/** Exit code without a Prometheus. */
const notPossible = 3;
const healthyDocuments = 60_000;
const troubledDocuments = 20_000;
/** Writes of the workload do not fill it, those of a condition do within seconds. */
const troubledOplogBytes = 64 * 1024 * 1024;

const { values: flags } = parseArgs({ options: { picture: { type: 'string' } } });

/** Tries alert rules and board on a healthy migration and on one in trouble. @returns what is wrong */
async function check(folder: ScratchFolder): Promise<string[]> {
  await using closers = new Closers();
  const token = randomBytes(16).toString('hex');
  const prometheus = closers.use(await Prometheus.start(folder, token));
  const begin = now_seconds();
  const start = async (name: string, documents: number, oplogBytes?: number): Promise<MonitoredFleet> => {
    const sizes = { documents, ...(oplogBytes !== undefined && { oplogBytes }) };
    return closers.use(await MonitoredFleet.start({ name, token, ...sizes }, prometheus, folder));
  };

  const healthy = await start('healthy', healthyDocuments);
  const span = { from: now_seconds(), to: 0 };
  // An alert of an idle or a committed fleet has the time to fire.
  await delay((documentFor_seconds + 2) * 1000);
  await migrate(healthy);
  await delay((documentFor_seconds + 2) * 1000);
  span.to = now_seconds();
  const board = await evaluatePanels(prometheus, healthy, span);
  if (flags.picture !== undefined) {
    const bytes = await drawBoard(board, span, flags.picture);
    console.log(`${flags.picture}: ${Math.round(bytes / 1000)} kB`);
  }
  console.log(`A whole healthy migration: ${Math.round(span.to - span.from)} s`);

  const troubled = await start('troubled', troubledDocuments, troubledOplogBytes);
  const outcomes: Outcome[] = [];
  for (const condition of conditions) {
    const outcome = await tryCondition(condition, troubled, prometheus);
    outcomes.push(outcome);
    for (const line of linesOf(outcome)) console.log(line);
  }
  const whole = { from: begin, to: now_seconds() };
  const fired = await prometheus.queryRange(
    'ALERTS{fleet="healthy", scale="document", alertstate="firing"}',
    whole.from,
    whole.to,
  );
  const names = [...new Set(fired.map(({ metric }) => metric['alertname'] ?? ''))];
  console.log(`Alerts of the healthy fleet, until the end: ${names.join(', ') || 'none'}`);
  const empty = emptyQueries([board, await evaluatePanels(prometheus, troubled, whole)]);
  const queries = board.reduce((sum, panel) => sum + panel.queries.length, 0);
  console.log(`Queries of the board with data: ${queries - empty.length} of ${queries}`);
  return [
    ...(await wrongVariables(prometheus, [healthy, troubled])),
    ...names.map((name) => `${name} fired in the healthy fleet.`),
    ...outcomes.flatMap(faultsOf),
    ...empty.map((query) => `Without data: ${query}`),
  ];
}

/** Fleets and instances to choose from must be those that are scraped, instances of the chosen fleet alone. */
async function wrongVariables(prometheus: Prometheus, fleets: readonly MonitoredFleet[]): Promise<string[]> {
  const wrong: string[] = [];
  const compare = (what: string, found: readonly string[], expected: readonly string[]): void => {
    if (found.join() !== [...expected].sort().join()) wrong.push(`${what}: the board offers ${found.join(', ')}.`);
  };
  compare(
    'fleet',
    await valuesOf(prometheus, 'fleet'),
    fleets.map(({ name }) => name),
  );
  for (const { name, targets } of fleets) compare(name, await valuesOf(prometheus, 'instance', name), targets);
  compare(
    'All',
    await valuesOf(prometheus, 'instance'),
    fleets.flatMap(({ targets }) => targets),
  );
  return wrong;
}

function linesOf({ what, alerts, silent }: Outcome): string[] {
  const seconds = (value: number | null): string => (value === null ? 'never' : `${Math.round(value)} s`);
  return [
    `${what}:`,
    ...alerts.map(({ alert, pending, firing }) => {
      const end = silent === null ? '' : `, silent ${seconds(silent)} after the end`;
      const before = pending === null ? '' : `pending after ${seconds(pending)}, `;
      return `  ${alert}: ${before}firing after ${seconds(firing)}${end}`;
    }),
  ];
}

function faultsOf({ what, alerts, silent, stays }: Outcome): string[] {
  return [
    ...alerts.filter(({ firing }) => firing === null).map(({ alert }) => `${alert} did not fire: ${what}.`),
    ...(silent === null && !stays ? [`Alerts still fire after the end: ${what}.`] : []),
  ];
}

if (!hasPrometheus()) {
  console.error('There is no prometheus on the PATH: Debian has it in the package prometheus.');
  process.exitCode = notPossible;
} else {
  using folder = ScratchFolder.create('monitoring');
  const faults = await check(folder);
  for (const fault of faults) console.error(`✗ ${fault}`);
  console.log(
    faults.length === 0 ? `All ${readRules().length} alert rules and the board hold.` : `Logs: ${folder.path}`,
  );
  if (faults.length > 0) folder.keep();
  process.exitCode = faults.length === 0 ? 0 : 1;
}

const phaseLimit_ms = 300_000;
const operationsPerSecond = 200;
/** How long changes are applied, so that rates have a history. */
const applied_ms = 20_000;

/** A whole migration under writes: copy, apply, cut-over. Resolves when it is committed. */
async function migrate(monitored: MonitoredFleet): Promise<void> {
  const { client } = monitored.fleet.coordinator;
  const migration = new Migration(client, () => undefined, new AbortController().signal);
  const workload = monitored.write(operationsPerSecond);
  const counting = monitored.count();
  await client.start({ source: 'cluster0', destination: 'cluster1' });
  await migration.follow('the copy is done', phaseLimit_ms, ({ info }) => info === 'change event application');
  await workload.goOn(applied_ms);
  await migration.follow('a commit would be accepted', phaseLimit_ms, ({ canCommit }) => canCommit);
  await Promise.all([workload.stop(), counting()]);
  await client.commit();
  const isOver = ({ state, canWrite }: { state: string; canWrite: boolean | null }): boolean =>
    state === 'COMMITTED' && canWrite === true;
  await migration.follow('it is committed', phaseLimit_ms, isOver);
}
