import { setTimeout as delay } from 'node:timers/promises';
import { ScratchFolder } from '@convoy/testbed/process/scratch-folder';
import { BSON, MongoClient } from 'mongodb';
import { writeFileSync } from 'node:fs';
import type { Clock } from '../clock.js';
import { differences } from '../compare.js';
import type { History } from '../history.js';
import { move } from '../moves.js';
import { prepareSource } from '../prepare-source.js';
import { wrongAfterMore } from '../series.js';
import { database } from '../source-collections.js';
import { write } from '../write.js';
import { type RealClusters, realSides } from './real-clusters.js';
import { RealMembers } from './real-members.js';
import { RealUser } from './real-user.js';

/** Of a difference no more is shown. */
const differenceTextMax = 500;
/** Users write so long before the migration starts. */
const before_ms = 1_000;

/** A history has ended otherwise than it should. */
export class HistoryFailed extends Error {
  override readonly name = 'HistoryFailed';

  /** @param logs the folder of its processes' logs and its clusters' oplogs, which stays */
  constructor(
    cause: unknown,
    readonly logs: string,
  ) {
    super(`${cause instanceof Error ? cause.message : String(cause)}\nlogs: ${logs}`, { cause });
  }
}

/**
 * Plays a history from its first write to the comparison of the clusters, with processes and in real time.
 * @param clusters are empty; what the history leaves on them stays
 * @returns how many moves of chunks and databases the servers have taken
 * @throws HistoryFailed
 */
export async function runRealHistory(history: History, clusters: RealClusters): Promise<number> {
  using folder = ScratchFolder.create('history');
  try {
    return await play(history, clusters, folder);
  } catch (error) {
    folder.keep();
    // A cluster that is gone has nothing to say any more.
    await keepOplogs(clusters, folder).catch(() => undefined);
    throw new HistoryFailed(error, folder.path);
  }
}

async function play(history: History, clusters: RealClusters, folder: ScratchFolder): Promise<number> {
  const { source, destination } = clusters.clients;
  await using user = new RealUser(source);
  await prepareSource(history.stage, user);
  await using members = await RealMembers.start(history.stage, clusters, folder);
  const clock = new RealClock();
  const writing = write(history, clock, before_ms, () => new RealUser(source));
  writing.catch(() => undefined);
  await using operator = new RealUser(source);
  const moving = move(history, clock, before_ms, operator);
  moving.catch(() => undefined);
  await delay(before_ms);
  await members.begin();
  await members.suffer(history.incidents);
  await writing;
  await members.untilCanCommit();
  await members.commit();
  await members.suffer(history.incidentsAtCommit);
  await members.untilCommitted();
  const moves = await moving;
  await using onDestination = new RealUser(destination);
  const found = await differences(user, onDestination, history.stage.destinationShards > 0);
  if (found.length > 0)
    throw new Error(['the clusters differ:', ...found.map((text) => text.slice(0, differenceTextMax))].join('\n'));
  const wrong = await wrongAfterMore(database, onDestination);
  if (wrong.length > 0) throw new Error(wrong.join('\n'));
  return moves;
}

/** Everybody's time, from now on. */
class RealClock implements Clock {
  readonly #started_ms = performance.now();

  get elapsed_ms(): number {
    return performance.now() - this.#started_ms;
  }

  async sleep(duration_ms: number): Promise<void> {
    await delay(Math.max(0, duration_ms));
  }
}

/**
 * Writes the entries of all shards' oplogs about the users' database beside the logs.
 */
async function keepOplogs(clusters: RealClusters, folder: ScratchFolder): Promise<void> {
  const isOfUsers = {
    $or: [{ ns: { $regex: `^${database}\\.` } }, { 'o.applyOps.ns': { $regex: `^${database}\\.` } }],
  };
  for (const side of realSides) {
    for (const shardId of clusters[side].shardIds) {
      await using shard = new MongoClient(clusters[side].shardConnectionString(shardId));
      const entries = await shard
        .db('local')
        .collection('oplog.rs')
        .find(isOfUsers, { promoteValues: false })
        .toArray();
      writeFileSync(
        folder.file(`oplog-${side}-${shardId}.jsonl`),
        entries.map((entry) => `${BSON.EJSON.stringify(entry, { relaxed: false })}\n`).join(''),
      );
    }
  }
}
