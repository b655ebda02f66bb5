import { Migration } from '@convoy/cli/demo/migration';
import type { MonitoredFleet } from './monitored-fleet.js';

const phaseLimit_ms = 300_000;
const operationsPerSecond = 200;
/** How long changes are applied, so that rates have a history. */
const applied_ms = 20_000;

/** A whole migration under writes: copy, apply, cut-over. Resolves when it is committed. */
export async function migrate(monitored: MonitoredFleet): Promise<void> {
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
