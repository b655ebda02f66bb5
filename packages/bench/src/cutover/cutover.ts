import { setTimeout as delay } from 'node:timers/promises';
import { MongoClient } from 'mongodb';
import { progressInfo } from '@convoy/api/contract/progress';
import type { LeaderStep } from '@convoy/instance/lifecycle/migration/steps';
import { type Fleet, startFleet } from '@convoy/cli/environment/fleet/start-fleet';
import { untilAll } from '../apply/until-applied.js';
import { BenchClusters, shards } from '../copy/bench-clusters.js';
import { benchDocument, benchNamespace } from '../copy/bench-documents.js';
import type { Benchmark, BenchmarkContext, Row } from '../benchmark.js';
import { measureBare } from './bare-round-trips.js';
import { type CutOverMeasured, cutOverRows } from './cutover-rows.js';
import { documentsToWrite, PacedWriters, writesPerSecond } from './paced-writers.js';
import { readFileSync, writeFileSync } from 'node:fs';
import { z } from 'zod';

const hook = new URL('./step-hook.js', import.meta.url).href;
const line = z.object({ step: z.string(), at_ms: z.number() });

/** The leader's steps, as reported by instances that start during its life. */
class StepLog implements Disposable {
  private readonly optionsBefore = process.env['NODE_OPTIONS'];

  constructor(private readonly file: string) {
    writeFileSync(file, '');
    process.env['NODE_OPTIONS'] = [this.optionsBefore, `--import=${hook}`].filter(Boolean).join(' ');
    process.env['CONVOY_STEP_LOG'] = file;
  }

  /** When each step was last finished, in milliseconds since 1970. */
  read(): Map<string, number> {
    const lines = readFileSync(this.file, 'utf8').split('\n').filter(Boolean);
    return new Map(lines.map((text) => line.parse(JSON.parse(text))).map(({ step, at_ms }) => [step, at_ms]));
  }

  [Symbol.dispose](): void {
    if (this.optionsBefore === undefined) delete process.env['NODE_OPTIONS'];
    else process.env['NODE_OPTIONS'] = this.optionsBefore;
    delete process.env['CONVOY_STEP_LOG'];
  }
}

/** The first release whose servers can block and unblock user writes. */
const release = '6.0';
const repetitions = 3;
const poll_ms = 5;
/** Steps that are passed immediately without a verifier. */
const verifyingSteps: readonly LeaderStep[] = ['documentsVerified', 'verifiedAgain'];
const commitWithin_ms = 120_000;

/** How long users cannot write, and that no write is lost in that time. */
export const cutOverBenchmark: Benchmark = {
  name: 'cutover',
  description:
    `${shards} → ${shards} shards, ${writesPerSecond} writes/s until users get the block error: from the ` +
    'commit to canWrite, by step, beside the bare commands that each step needs',
  async run(context) {
    const rows: Row[] = [];
    for (const [name, verified] of [
      ['verified', true],
      ['not verified', false],
    ] as const) {
      const cutOvers: CutOverMeasured[] = [];
      let bare = new Map<string, number>();
      for (let nth = 1; nth <= Math.max(1, Math.round(repetitions * context.scale)); nth += 1) {
        context.signal.throwIfAborted();
        context.log(`${name}: cut-over ${nth}`);
        await using clusters = await BenchClusters.start(context.folder, 'sharded', { release, withUsers: true });
        if (clusters.source.version[0] < Number.parseInt(release))
          throw new Error(`User writes can be blocked from ${release} on; these servers are older.`);
        cutOvers.push(await cutOver(clusters, verified, context));
        bare = await measureBare(clusters);
        if (!verified) for (const step of verifyingSteps) bare.delete(step);
      }
      rows.push(...cutOverRows(name, cutOvers, bare));
    }
    return rows;
  },
};

/** A unique and a TTL index, which a commit restores. */
async function load(client: MongoClient, loaded: number): Promise<void> {
  const { database, collection } = benchNamespace;
  await client.db('admin').command({ enableSharding: database });
  await client.db('admin').command({ shardCollection: `${database}.${collection}`, key: { _id: 'hashed' } });
  await client
    .db(database)
    .collection(collection)
    .insertMany(Array.from({ length: loaded }, (_, id) => benchDocument(id)));
  const accounts = client.db(database).collection('accounts');
  await accounts.createIndexes([
    { key: { name: 1 }, unique: true },
    { key: { at: 1 }, expireAfterSeconds: 86_400 },
  ]);
  await accounts.insertMany(Array.from({ length: 1_000 }, (_, id) => ({ name: `account ${id}`, at: new Date() })));
}

async function cutOver(
  { source, destination, sourceClient, destinationClient }: BenchClusters,
  verified: boolean,
  { folder, scale, signal }: BenchmarkContext,
): Promise<CutOverMeasured> {
  const loaded = documentsToWrite(scale);
  await load(sourceClient, loaded);
  await using shopper = new MongoClient(source.connectionStringOf('shopper'));
  using steps = new StepLog(folder.file('steps'));
  await using fleet = await startFleet({ source, destination, folder });
  const { client } = fleet.coordinator;
  await client.start({
    source: 'cluster0',
    destination: 'cluster1',
    enableUserWriteBlocking: true,
    verification: { enabled: verified },
  });
  await untilAll(
    fleet.instances,
    ({ info, canCommit }) => info === progressInfo.changeEventApplication && canCommit,
    signal,
  );
  const writers = new PacedWriters(shopper, loaded);
  await writers.untilWritten(signal);
  await untilAll(fleet.instances, ({ canCommit }) => canCommit, signal);
  const commandAt_ms = Date.now();
  await client.commit();
  const acceptedAt_ms = Date.now();
  const canWriteAt_ms = await untilCanWrite(fleet, signal);
  await writers.refused;
  if (writers.refusedAt_ms === null) throw new Error('No write was rejected.');
  await untilAll(fleet.instances, ({ state }) => state === 'COMMITTED', signal);
  const { writtenPerSecond, refusedAt_ms } = writers;
  return {
    commandAt_ms,
    acceptedAt_ms,
    steps: steps.read(),
    refusedAt_ms,
    canWriteAt_ms,
    writtenPerSecond,
    missing: await writers.missingOn(destinationClient),
    acknowledged: writers.writes,
  };
}

/** When the coordinator shows that writes are allowed, as a cut-over script sees it. */
async function untilCanWrite({ coordinator }: Fleet, signal: AbortSignal): Promise<number> {
  const end_ms = performance.now() + commitWithin_ms;
  while ((await coordinator.client.progress({ signal })).progress.canWrite !== true) {
    if (performance.now() > end_ms) throw new Error(`The commit was not done within ${commitWithin_ms / 1000} s.`);
    await delay(poll_ms, undefined, { signal });
  }
  return Date.now();
}
