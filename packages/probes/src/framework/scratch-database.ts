import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import type { Document } from 'mongodb';
import type { Reached } from './reach.js';
import type { Asked } from './server.js';

/** Prefix of scratch databases; some probes use a second one, whose name has a suffix. */
const namePattern = /^convoy_probe_[0-9a-f]{12}/;
/** Identifies the owner of a scratch database: the first document written to it. */
const ownerCollection = 'run';
/** A drop waits at most this long for what a killed run has left open. */
const removal_ms = 60_000;

/** An unused name. */
export function newScratchName(): string {
  return `convoy_probe_${randomBytes(6).toString('hex')}`;
}

interface MakeOptions {
  /** How long the run may take. */
  readonly endsWithin_ms: number;
  /** Receives each command and its reply. */
  readonly record: (asked: Asked, reply: Document) => void;
  readonly signal: AbortSignal;
}

/**
 * Creates the scratch database; on a sharded cluster on the first shard. A login that may not drop it fails here.
 * @returns a reply: that of the first refusal, if there is one
 */
export async function makeScratch(
  { front, shardIds }: Reached,
  db: string,
  { endsWithin_ms, record, signal }: MakeOptions,
): Promise<Document> {
  const removal = await front.answer(db, { dropDatabase: 1 }, { signal });
  if (removal.ok !== 1) return removal;
  const [primaryShard] = shardIds;
  if (primaryShard !== undefined) {
    const command = { enableSharding: db, primaryShard };
    const reply = await front.ask('admin', command, { signal });
    record({ on: front.name, db: 'admin', command }, reply);
    if (Number(reply.ok) !== 1) return reply;
  }
  const owner = {
    _id: ownerCollection,
    host: hostname(),
    pid: process.pid,
    until: new Date(Date.now() + endsWithin_ms),
  };
  return front.answer(db, { insert: ownerCollection, documents: [owner] }, { signal });
}

/** Removes a scratch database, its second one, and the users created in it. @returns whether it is gone */
export async function removeScratch(reached: Reached, db: string): Promise<boolean> {
  const signal = AbortSignal.timeout(removal_ms);
  try {
    if (reached.hasUsers) {
      for (const server of new Set([reached.front, ...reached.shards]))
        await server.answer(db, { dropAllUsersFromDatabase: 1 }, { signal });
    }
    const names = (await scratchNames(reached, signal)) ?? [db];
    for (const name of new Set([...names.filter((name) => name.startsWith(db)), db]))
      await reached.front.answer(name, { dropDatabase: 1 }, { signal });
    return !((await scratchNames(reached, signal)) ?? []).some((name) => name.startsWith(db));
  } catch {
    return false;
  }
}

/**
 * Removes what killed runs have left.
 * @returns names of what was removed, and of what belongs to a run that may still be active
 */
export async function removeLeftBehind(
  reached: Reached,
  signal: AbortSignal,
): Promise<{ removed: string[]; kept: string[] }> {
  const found = new Set(
    ((await scratchNames(reached, signal)) ?? []).map((name) => namePattern.exec(name)?.[0] ?? name),
  );
  const [removed, kept]: [string[], string[]] = [[], []];
  for (const db of found) {
    const isLeft = (await isLeftBehind(reached, db, signal)) && (await removeScratch(reached, db));
    (isLeft ? removed : kept).push(db);
  }
  return { removed, kept };
}

async function isLeftBehind({ front }: Reached, db: string, signal: AbortSignal): Promise<boolean> {
  const reply = await front.answer(db, { find: ownerCollection, limit: 1 }, { signal });
  const [owner] = (reply.cursor as { firstBatch: Document[] } | undefined)?.firstBatch ?? [];
  if (owner === undefined) return reply.ok === 1;
  if ((owner.until as Date).getTime() < Date.now()) return true;
  return owner.host === hostname() && !lives(owner.pid as number);
}

/** Whether another process of this machine has this id. */
function lives(pid: number): boolean {
  if (pid === process.pid) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Null if databases may not be listed. */
async function scratchNames({ front }: Reached, signal: AbortSignal): Promise<string[] | null> {
  const reply = await front.answer(
    'admin',
    { listDatabases: 1, nameOnly: true, filter: { name: namePattern } },
    { signal },
  );
  if (reply.ok !== 1) return null;
  return (reply.databases as { name: string }[]).map(({ name }) => name).filter((name) => namePattern.test(name));
}
