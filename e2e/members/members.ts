import { setTimeout as delay } from 'node:timers/promises';
import type { TestCluster } from '@convoy/testbed/cluster/test-cluster';
import { loginAs } from '@convoy/testbed/cluster/access-control';
import { pollUntil } from '@convoy/testbed/process/poll-until';
import { type Document, MongoClient } from 'mongodb';

const electedWithin_ms = 60_000;

/** Two sets of three members each. */
export const setsOfThree = { source: 'replicaSet', destination: 'replicaSet', members: 3 } as const;

/** The member of a shard that is primary, and the others. */
export async function membersNow(cluster: TestCluster, shard: string): Promise<{ primary: string; others: string[] }> {
  const hosts = cluster.members.get(shard) ?? [];
  await using client = new MongoClient(cluster.shardConnectionString(shard));
  const { primary } = (await client.db('admin').command({ hello: 1 })) as { primary: string };
  return { primary, others: hosts.filter((host) => host !== primary) };
}

/** Waits until a shard has another primary than the former one. */
export async function untilAnotherLeads(cluster: TestCluster, shard: string, former: string): Promise<void> {
  await pollUntil(`${shard} has another primary`, electedWithin_ms, async () => {
    try {
      return (await membersNow(cluster, shard)).primary !== former;
    } catch {
      return false;
    }
  });
}

/**
 * Runs a command on one member of a replica set, also while another one leads.
 * @param withUsers whether the set asks for a login
 */
export async function onMember(host: string, command: Document, withUsers = false): Promise<Document> {
  const text = `mongodb://${host}/?directConnection=true`;
  await using client = new MongoClient(withUsers ? loginAs(text, 'root') : text);
  return await client.db('admin').command(command);
}

/** A document that `AcknowledgedWrites` inserts. */
interface Numbered {
  _id: number;
}

const collectionName = 'acknowledged';
/** Pause between two writes: a steady stream, with capacity left for the migration. */
const pause_ms = 20;

/** Inserts one document after the other at majority, and keeps the `_id`s of those that the source acknowledged. */
export class AcknowledgedWrites implements AsyncDisposable {
  readonly ids: number[] = [];
  private readonly stopping = new AbortController();
  private readonly running: Promise<void>;

  private constructor(private readonly client: MongoClient) {
    this.running = this.run();
  }

  /** @param client of a user whose writes can be blocked */
  static start(client: MongoClient): AcknowledgedWrites {
    return new AcknowledgedWrites(client);
  }

  /** Waits until more writes are acknowledged than before. */
  async untilMore(): Promise<void> {
    const before = this.ids.length;
    await pollUntil('more writes are acknowledged', electedWithin_ms, () => Promise.resolve(this.ids.length > before));
  }

  /** The acknowledged writes that another cluster does not have. */
  async missingOn(client: MongoClient): Promise<number[]> {
    const found = await client.db('shop').collection<Numbered>(collectionName).find().toArray();
    const present = new Set(found.map(({ _id }) => _id));
    return this.ids.filter((id) => !present.has(id));
  }

  /** Ends it once its last write is answered. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  private async run(): Promise<void> {
    const collection = this.client.db('shop').collection<Numbered>(collectionName);
    for (let _id = 0; !this.stopping.signal.aborted; _id += 1) {
      await collection.insertOne({ _id }, { writeConcern: { w: 'majority' } }).then(
        () => this.ids.push(_id),
        // Refused by a block, or not confirmed: nobody was promised anything.
        () => undefined,
      );
      await delay(pause_ms, undefined, { signal: this.stopping.signal }).catch(() => undefined);
    }
  }
}
