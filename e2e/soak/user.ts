import { type Document, Long } from 'mongodb';

/** A user of a cluster, with one action at a time. */
export interface User {
  /**
   * Runs a command, in the open transaction when there is one.
   * @throws RefusedByServer for `ok: 0` and for failed statements
   */
  command(database: string, command: Document): Promise<Document>;
  /** Runs one write in the way in which a shard key may change. */
  retryable(database: string, command: Document): Promise<Document>;
  /** All documents of a cursor, with their types. */
  documents(database: string, command: Document): Promise<Document[]>;
  /** Opens a transaction for the commands that follow. */
  begin(): void;
  /** Ends the transaction; one that has ended by itself is passed over. */
  end(how: 'commitTransaction' | 'abortTransaction'): Promise<void>;
}

/** All documents of a user's cursor. */
export async function documentsOf(
  user: Pick<User, 'command'>,
  database: string,
  command: Document,
): Promise<Document[]> {
  const { cursor } = (await user.command(database, command)) as { cursor: { firstBatch: Document[]; id: unknown } };
  const collection = String(command['find'] ?? command['aggregate'] ?? '$cmd');
  const found = [...cursor.firstBatch];
  let id = Long.fromString(String(cursor.id));
  while (!id.isZero()) {
    const next = (await user.command(database, { getMore: id, collection }))['cursor'] as {
      nextBatch: Document[];
      id: unknown;
    };
    found.push(...next.nextBatch);
    id = Long.fromString(String(next.id));
  }
  return found;
}

/** The server has refused a user's command. */
export class RefusedByServer extends Error {
  override readonly name = 'RefusedByServer';

  /** @param reply `codeName` and `errmsg` of an answer, or of a statement in it */
  constructor(reply: Document) {
    super(`${String(reply['codeName'])}: ${String(reply['errmsg'])}`);
  }
}

/** The server may refuse actions: duplicates, conflicts, validation. The source then stays as the server left it. */
export function passOver(error: unknown): void {
  if (!(error instanceof RefusedByServer)) throw error;
}
