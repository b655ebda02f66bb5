import type { RawWrite, WriteOutcome } from '../../src/cluster/node-client.js';

/** What a writer answers when every statement of a bulk write has taken effect. */
export function allWritten({ statements }: RawWrite): WriteOutcome {
  return { n: statements.length, nModified: 0, upserted: 0, failures: [] };
}

/** A writer that notes what it is given, and all of it takes effect. */
export class NotedWrites {
  readonly sent: RawWrite[] = [];

  write(one: RawWrite): Promise<WriteOutcome> {
    this.sent.push(one);
    return Promise.resolve(allWritten(one));
  }
}
