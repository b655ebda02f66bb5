/**
 * Bytes of one bulk write's statements, one statement more at most: a document of 16 MB still has its place, and a message
 * stays far below the 48,000,000 bytes that servers take (`maxMessageSizeBytes`).
 */
export const bulkBytesMax = 16 * 2 ** 20;

/**
 * Bytes of the statements in a command that is sent as one BSON document, as those to the metadata database are: the
 * whole of it may have 16 MB and 16 KB.
 */
export const commandBytesMax = 8 * 2 ** 20;

/** Bytes of a document that servers store (`maxBsonObjectSize`). */
export const documentBytesMax = 16 * 2 ** 20;

/**
 * Bytes of one statement: servers take no document above 16 MB and 16 KB, and a router puts the statement into the one
 * document of its command to the shard, whose other fields have the rest.
 */
export const statementBytesMax = 16 * 2 ** 20 + 8 * 2 ** 10;

/** Statements of one bulk write; servers take 100,000 (`maxWriteBatchSize`). */
export const bulkStatementsMax = 10_000;

/** What servers refuse outright. */
const serverStatementsMax = 100_000;
const serverMessageBytesMax = 48_000_000;
/** Of a message: header, sections and everything of the command but its statements. */
const messageOverhead_bytes = 16 * 1024;

/**
 * Cuts a list, in its order, so that each part fits into one command.
 * @param bytesOf the size of an item; one that is larger than the bound is a part of its own
 * @returns parts of at least one item, each as soon as it is full; none for an empty list
 */
export function* partsWithin<Item>(
  items: Iterable<Item>,
  bytesOf: (item: Item) => number,
  bytesMax: number,
): Generator<Item[]> {
  let part: Item[] = [];
  let bytes = 0;
  for (const item of items) {
    const size = bytesOf(item);
    if (part.length > 0 && (bytes + size > bytesMax || part.length >= bulkStatementsMax)) {
      yield part;
      part = [];
      bytes = 0;
    }
    part.push(item);
    bytes += size;
  }
  if (part.length > 0) yield part;
}

/** @throws RangeError for a bulk write that no server takes: whoever composed it has not bounded it */
export function assertWithinLimits(statements: readonly Uint8Array[]): void {
  if (statements.length > serverStatementsMax) throw new RangeError(`a bulk write of ${statements.length} statements`);
  const bytes = statements.reduce((sum, statement) => sum + statement.length, 0);
  if (bytes > serverMessageBytesMax - messageOverhead_bytes) throw new RangeError(`a bulk write of ${bytes} bytes`);
}
