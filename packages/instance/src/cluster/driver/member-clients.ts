import type { MongoClient, ReadPreferenceMode } from 'mongodb';

/**
 * Clients of single members of a replica set, for reads from other members than the primary. A cursor lives on one
 * member, and the driver would choose a new member for every batch.
 */
export class MemberClients {
  private readonly clients = new Map<string, MongoClient>();

  /**
   * @param readPreference which members to choose
   * @param connect opens a client of one member only, `host:port`
   */
  constructor(
    readonly readPreference: ReadPreferenceMode,
    private readonly connect: (host: string) => MongoClient,
  ) {}

  /**
   * A member that the read preference currently allows.
   * @param replicaSet the client that follows the whole set
   */
  async choose(replicaSet: MongoClient, signal: AbortSignal): Promise<MongoClient> {
    const hello: { me?: unknown } = await replicaSet
      .db('admin')
      .command({ hello: 1 }, { readPreference: this.readPreference, signal });
    // A member without its own name cannot be connected to; the set's client then chooses.
    if (typeof hello.me !== 'string') return replicaSet;
    const client = this.clients.get(hello.me) ?? this.connect(hello.me);
    this.clients.set(hello.me, client);
    return client;
  }

  async close(): Promise<void> {
    await Promise.all([...this.clients.values()].map((client) => client.close()));
  }
}
