import { Random } from '@convoy/cli/demo/random';
import { BSON } from 'mongodb';
import { Adversary } from './adversary.js';
import { differences } from './compare.js';
import type { History } from './history.js';
import { Members } from './members.js';
import { move } from './moves.js';
import { prepareSource } from './prepare-source.js';
import { wrongAfterMore } from './series.js';
import { database } from './source-collections.js';
import { startSoakCluster } from './soak-cluster.js';
import { SoakFleet } from './soak-fleet.js';
import type { Clusters, SoakLog } from './soak-instance.js';
import { UserSession } from './user-session.js';
import { VirtualTime } from './virtual-time.js';
import { write } from './write.js';

/** Virtual time begins here, in milliseconds since 1970. */
const epoch_ms = Date.UTC(2026, 0, 1);

/** A part of a migration of a few hundred documents that takes longer than this hangs. */
const patience_ms = 900_000;

/** Of a stored document no more is shown. */
const documentTextMax = 2_000;

/** The result of a history that has passed. */
export interface HistoryStats {
  /** How long it took on the source's clock. */
  readonly simulated_ms: number;
  readonly steps: number;
}

/**
 * Plays a history from its first write to the comparison of the clusters, in virtual time.
 * @throws Error that says what is wrong
 */
export async function runHistory(history: History, log: SoakLog): Promise<HistoryStats> {
  const { stage } = history;
  const time = VirtualTime.install(epoch_ms, new Random(stage.seed));
  try {
    const shared = { noopIntervalMs: stage.noop_ms, balancerRoundMs: 0 };
    const start = (shards: number, version: History['stage']['sourceRelease']) =>
      time.run(startSoakCluster({ ...shared, shards, version }), false);
    const clusters = {
      source: await start(stage.sourceShards, stage.sourceRelease),
      destination: await start(stage.destinationShards, stage.destinationRelease),
    };
    try {
      await time.run(
        play(history, clusters, time, log).catch(async (error: unknown) => {
          if (log.verbosity === 'DEBUG')
            await writeMetadata(new UserSession(clusters.destination.link(), time, 102), log);
          throw error;
        }),
      );
      return { simulated_ms: time.elapsed_ms, steps: time.steps };
    } finally {
      await time.run(Promise.all([clusters.source.close(), clusters.destination.close()]), false);
    }
  } finally {
    time.uninstall();
  }
}

async function play(history: History, clusters: Clusters, time: VirtualTime, log: SoakLog): Promise<void> {
  const { stage } = history;
  const random = new Random(stage.seed ^ 0x5eed);
  const source = new UserSession(clusters.source.link(), time, 100);
  const destination = new UserSession(clusters.destination.link(), time, 101);
  await prepareSource(stage, source);
  const fleet = new SoakFleet(time, new Adversary(new Random(random.below(2 ** 31))));
  const members = new Members({ stage, time, fleet, clusters, random, log });
  const started_ms = time.elapsed_ms + 2_000;
  const writing = write(history, time, started_ms, (place) => new UserSession(clusters.source.link(), time, place));
  writing.catch(() => undefined);
  const moving = move(history, time, started_ms, new UserSession(clusters.source.link(), time, 103));
  moving.catch(() => undefined);
  await time.sleep(started_ms - time.elapsed_ms);
  members.begin();
  await within(time, members, 'the migration to start', members.start());
  await members.suffer(history.incidents, time.elapsed_ms);
  await within(time, members, 'the users to end', writing);
  await members.recover();
  await within(time, members, 'it can be committed', members.untilCanCommit());
  const suffering = members.suffer(history.incidentsAtCommit, time.elapsed_ms);
  suffering.catch(() => undefined);
  await within(time, members, 'the commit to be taken', members.commit());
  await suffering;
  await members.recover();
  await within(time, members, 'COMMITTED', members.untilCommitted());
  await within(time, members, 'the moves to end', moving);
  const found = await differences(source, destination, stage.destinationShards > 0);
  if (found.length > 0) throw new Error(`the clusters differ:\n${found.join('\n')}`);
  const wrong = await wrongAfterMore(database, destination);
  if (wrong.length > 0) throw new Error(wrong.join('\n'));
}

/** The migration's stored state. */
async function writeMetadata(user: UserSession, log: SoakLog): Promise<void> {
  for (const { name } of await user.documents('convoy_metadata', { listCollections: 1, nameOnly: true })) {
    for (const document of await user.documents('convoy_metadata', { find: String(name) })) {
      log.write(`${String(name)}: ${BSON.EJSON.stringify(document).slice(0, documentTextMax)}`);
    }
  }
}

async function within<T>(time: VirtualTime, members: Members, what: string, promise: Promise<T>): Promise<T> {
  const late = time.sleep(patience_ms).then(() => {
    throw new Error(`waited in vain for ${what}; ${members.description()}`);
  });
  return Promise.race([promise, late]);
}
