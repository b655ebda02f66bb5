import { Binary, Int32, type Timestamp } from 'bson';
import { MongoClient, MongoServerError } from 'mongodb';
import { type Cluster, startWholeCluster } from '../../src/cluster/cluster.js';
import type { Doc, Value } from '../../src/bson/value.js';
import { clusterRoles } from './cluster-stage.js';
import type { RecordedRelease, Step } from './corpus-file.js';
import type { HostRoles } from './host-roles.js';
import { logIn } from './scram-login.js';
import type { Stage } from './stage.js';
import { WireClient } from './wire-client.js';

/** The password of every user, as the corpus writes it. */
const password = 'PASSWORD';
/** Idle streams move on fast, so that a replay need not wait for them. */
const noopIntervalMs = 20;

/** One shard behind one router, with access control; `root` exists, and a collection with one document. */
export async function openAccessStage(version: RecordedRelease): Promise<Stage> {
  const cluster = await startWholeCluster({
    version,
    shards: 1,
    noopIntervalMs,
    auth: { users: [{ user: 'root', password, roles: ['root'] }] },
  });
  const stage = new AccessStage(cluster);
  const document = new Map([['_id', new Int32(1)]]);
  await stage.run(
    'root',
    'appdb',
    new Map<string, Value>([
      ['insert', 'c'],
      ['documents', [document]],
    ]),
  );
  return stage;
}

/** What a driver keeps for one user. */
interface UserClient {
  readonly client: WireClient;
  readonly session: Doc;
  /** `$clusterTime` of the last reply. */
  clusterTime: Value | undefined;
}

/** A stage whose steps come from several users, each with a connection and a session of its own. */
class AccessStage implements Stage {
  readonly #users = new Map<string, UserClient>();

  constructor(private readonly cluster: Cluster) {}

  get roles(): HostRoles {
    return clusterRoles(this.cluster);
  }

  clusterTime(): Timestamp {
    return this.cluster.catalog.clock.current();
  }

  send(step: Step, command: Doc): Promise<Doc> {
    return this.run(step.who ?? 'nobody', step.db ?? 'admin', command);
  }

  /** Sends a command as a driver does: with the session, and the time it has heard of. */
  async run(who: string, db: string, command: Doc): Promise<Doc> {
    const user = await this.#user(who);
    const sent = new Map(command).set('lsid', user.session);
    if (user.clusterTime !== undefined) sent.set('$clusterTime', user.clusterTime);
    const reply = await user.client.run(db, sent);
    user.clusterTime = reply.get('$clusterTime');
    return reply;
  }

  /** The described actions of the file are failing logins, which the driver shows without the reply around them. */
  async act(step: Step): Promise<Doc> {
    const toShard = typeof step.command === 'string' && step.command.includes('shard0');
    const host = toShard ? (this.cluster.shards[0] ?? '') : this.cluster.router;
    const auth = { username: step.who ?? '', password: toShard ? password : 'another' };
    const client = new MongoClient(`mongodb://${host}/`, { auth, directConnection: true });
    try {
      await client.connect();
      return new Map();
    } catch (error) {
      if (!(error instanceof MongoServerError)) throw error;
      return new Map<string, Value>([
        ['code', new Int32(Number(error.code))],
        ['codeName', error.codeName ?? ''],
        ['errmsg', error.message],
        ['name', error.name],
      ]);
    } finally {
      await client.close();
    }
  }

  actAtNote(): Promise<void> {
    return Promise.resolve();
  }

  async close(): Promise<void> {
    for (const { client } of this.#users.values()) client.close();
    await this.cluster.close();
  }

  async #user(who: string): Promise<UserClient> {
    const known = this.#users.get(who);
    if (known !== undefined) return known;
    const client = await WireClient.connect(this.cluster.router);
    if (who !== 'nobody') await logIn(client, 'admin', who, password);
    const id = new Binary(Buffer.alloc(16, who.charCodeAt(0)), Binary.SUBTYPE_UUID);
    const user: UserClient = { client, session: new Map([['id', id]]), clusterTime: undefined };
    this.#users.set(who, user);
    return user;
  }
}
