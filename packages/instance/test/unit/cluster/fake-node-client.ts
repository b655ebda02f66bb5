import type { Document } from 'mongodb';
import type {
  CallOptions,
  ClusterClient,
  NodeClient,
  RawBatch,
  RawCursor,
  WriteOutcome,
} from '../../../src/cluster/node-client.js';

export interface ClientCall {
  database: string;
  command: Document;
  options: CallOptions;
}

/** A door that answers commands by a function and remembers them. */
export class FakeNodeClient implements NodeClient {
  readonly label = 'fake';
  readonly calls: ClientCall[] = [];
  closedCursors = 0;

  constructor(
    private readonly answer: (command: Document) => Document,
    private readonly first: Partial<RawBatch> = {},
  ) {}

  command(database: string, command: Document, options: CallOptions): Promise<Document> {
    this.calls.push({ database, command, options });
    return Promise.resolve(this.answer(command));
  }

  openCursor(database: string, command: Document, options: CallOptions): Promise<RawCursor> {
    this.calls.push({ database, command, options });
    const first: RawBatch = { documents: [], bytes: 0, ...this.first };
    const close = () => {
      this.closedCursors += 1;
      return Promise.resolve();
    };
    return Promise.resolve({ first, open: true, next: () => Promise.resolve(first), close });
  }

  write(): Promise<WriteOutcome> {
    return Promise.reject(new Error('This door writes nothing'));
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

/** A cluster behind fake doors; without shard doors it is one without direct access. */
export function fakeCluster(router: NodeClient, shards: Record<string, NodeClient> = {}): ClusterClient {
  const clientOf = (id: string): NodeClient => {
    const client = shards[id];
    if (client === undefined) throw new Error(`no door to ${id}`);
    return client;
  };
  return {
    name: 'cluster0',
    kind: 'sharded',
    version: [5, 0, 7],
    clusterId: '00',
    displayHost: 'localhost:27017',
    router,
    access: Object.keys(shards).length > 0 ? 'direct' : 'router',
    shardIds: Object.keys(shards),
    shard: clientOf,
    taskClient: (id) => shards[id] ?? router,
    close: () => Promise.resolve(),
  };
}
