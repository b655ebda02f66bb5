import type { ConnectionState } from '@convoy/simulator/internal/node/command';
import { encodeDocument } from '@convoy/simulator/internal/bson/encode';
import { runCommand } from '@convoy/simulator/internal/wire/command-run';
import { parseCommand } from '@convoy/simulator/internal/wire/parsed-command';
import type { WireServer } from '@convoy/simulator/internal/wire/wire-server';
import { BSON, type Document, MongoNetworkError } from 'mongodb';

/** A command as it goes over the wire. */
export interface Message {
  readonly database: string;
  readonly command: Document;
  /** Document sequences by field. */
  readonly sequences?: ReadonlyMap<string, readonly Uint8Array[]>;
}

/** The way to a simulated node without a socket: commands and answers are the bytes that would go over the wire. */
export class NodeLink {
  readonly #connection: ConnectionState = { id: 1, remoteAddress: 'in process', authenticated: [] };

  /** @param running whether the node's process runs */
  constructor(
    private readonly server: WireServer,
    private readonly running: () => boolean,
  ) {}

  /**
   * Sends a command and gives the answer's bytes, failures of the server included.
   * @param signal aborted when the connection is cut
   * @throws MongoNetworkError while the node is down
   */
  async send({ database, command, sequences }: Message, signal: AbortSignal): Promise<Uint8Array> {
    if (!this.running()) throw new MongoNetworkError('connection refused');
    const body = BSON.serialize({ ...command, $db: database });
    const connection = { connection: this.#connection, signal };
    const own = new Map(
      [...(sequences ?? [])].map(([field, documents]) => [field, documents.map((document) => Buffer.from(document))]),
    );
    const reply = await runCommand(
      this.server.served,
      () => ({ ...parseCommand(body, own), ...connection }),
      connection,
    ).catch((error: unknown) => {
      throw new MongoNetworkError('connection closed', { cause: error as Error });
    });
    return encodeDocument(reply);
  }
}
