import type { MongoClient, ReadPreferenceMode } from 'mongodb';

/**
 * Clients of single members of a replica set, for reading elsewhere than on the primary: a cursor lives on one member,
 * and the driver would choose a member anew for every batch.
 */
export class MemberClients {
  private readonly clients = new Map<string, MongoClient>();

  /**
   * @param readPreference which members to choose
   * @param connect makes a client of one member, `host:port`, alone
   */
  constructor(
    readonly readPreference: ReadPreferenceMode,
    private readonly connect: (host: string) => MongoClient,
  ) {}

  /**
   * A member that the read preference allows at present.
   * @param replicaSet the client that follows the whole set
   */
  async choose(replicaSet: MongoClient, signal: AbortSignal): Promise<MongoClient> {
    const hello: { me?: unknown } = await replicaSet
      .db('admin')
      .command({ hello: 1 }, { readPreference: this.readPreference, signal });
    // Without a name of its own a member cannot be connected to; the set's client then chooses as it can.
    if (typeof hello.me !== 'string') return replicaSet;
    const client = this.clients.get(hello.me) ?? this.connect(hello.me);
    this.clients.set(hello.me, client);
    return client;
  }

  async close(): Promise<void> {
    await Promise.all([...this.clients.values()].map((client) => client.close()));
  }
}
