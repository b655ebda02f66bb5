import type { Document } from 'mongodb';
import { idClass } from '../../../src/bson/id.js';
import { encodeValue, findValue } from '../../../src/bson/scan.js';
import type {
  CallOptions,
  NodeClient,
  RawCursor,
  RawWrite,
  WriteOutcome,
  WriteTicket,
} from '../../../src/cluster/node-client.js';
import type { Network } from './calls.js';
import type { DestinationModel } from './destination-model.js';
import type { ReadWitness } from './source-clients.js';
import { idOf } from './source-history.js';

/**
 * A process's client of the destination. It fails the test when two statements for one id class are in flight at once.
 */
export class DestinationClient implements NodeClient, ReadWitness {
  readonly label = 'cluster1 router';
  readonly #inFlight = new Map<string, number>();

  constructor(
    private readonly destination: DestinationModel,
    private readonly network: Network,
    private readonly onViolation: (what: string) => void,
    /** Documents of one id class may be copied together: they stand on different shards of both clusters. */
    private readonly mayHoldTwins: boolean,
  ) {}

  command(database: string, command: Document, { signal }: CallOptions): Promise<Document> {
    if ('refreshSessions' in command) return this.network.call(signal, () => ({ ok: 1 }));
    if (database !== 'convoy_metadata')
      throw new Error(`the model's destination has no ${Object.keys(command)[0] ?? ''}`);
    return this.network.call(signal, () => this.destination.metadata.run(command));
  }

  openCursor(_database: string, command: Document, { signal }: CallOptions): Promise<RawCursor> {
    const name = String(command.find);
    const classes = (command.filter as { _id: { $in: unknown[] } })._id.$in.map((id) =>
      idClass(encodeValue(id), false),
    );
    return this.network.cursor(signal, () => ({
      documents: this.destination
        .documents(name)
        .filter((document) => classes.includes(idClass(idOf(document), false))),
      about: () => ({}),
    }));
  }

  async write(write: RawWrite, ticket: WriteTicket | null, { signal }: CallOptions): Promise<WriteOutcome> {
    if (ticket === null) throw new Error('a write outside the fenced sessions');
    const classes =
      write.collection === 'fence'
        ? []
        : write.statements.map((statement) => `${write.collection} ${classOf(write.kind, statement)}`);
    // A re-read may delete several outdated documents of one class, which are different documents.
    const distinct = this.mayHoldTwins || write.kind === 'delete' || new Set(classes).size === classes.length;
    if (!distinct) this.onViolation('two statements of one id class in one bulk');
    if (!this.mayHoldTwins && classes.some((name) => this.#inFlight.has(name)))
      this.onViolation('two statements of one id class in flight');
    for (const name of classes) this.#inFlight.set(name, (this.#inFlight.get(name) ?? 0) + 1);
    try {
      return await this.network.call(signal, () => this.destination.write(write, ticket));
    } finally {
      for (const name of classes) this.#landed(name);
    }
  }

  onReread(uuid: string, idClasses: readonly string[]): void {
    const collection = this.destination.nameOf(uuid) ?? '';
    if (idClasses.some((name) => this.#inFlight.has(`${collection} ${name}`)))
      this.onViolation('an id class is re-read while a statement of it is in flight');
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  #landed(name: string): void {
    const left = (this.#inFlight.get(name) ?? 1) - 1;
    if (left === 0) this.#inFlight.delete(name);
    else this.#inFlight.set(name, left);
  }
}

function classOf(kind: RawWrite['kind'], statement: Uint8Array): string {
  const document = kind === 'insert' ? statement : findValue(statement, 'q')?.bytes;
  if (document === undefined) throw new Error('a statement without filter');
  return idClass(idOf(document), false);
}
