import type { RawWrite, WriteOutcome } from '../../src/cluster/node-client.js';

/** The reply of a writer if every statement of a bulk write has taken effect. */
export function allWritten({ statements }: RawWrite): WriteOutcome {
  return { n: statements.length, nModified: 0, upserted: 0, failures: [] };
}

/** A writer that records its writes; all of them take effect. */
export class NotedWrites {
  readonly sent: RawWrite[] = [];

  write(one: RawWrite): Promise<WriteOutcome> {
    this.sent.push(one);
    return Promise.resolve(allWritten(one));
  }
}
