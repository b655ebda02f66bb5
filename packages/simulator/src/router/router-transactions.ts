import { Binary } from 'bson';
import type { Doc } from '../bson/value.js';
import { docOf, numberOf } from '../node/doc-fields.js';

/** Transactions a router may know of at once. */
const transactionsMax = 10_000;

interface OpenTransaction {
  readonly txnNumber: number;
  readonly participants: Set<string>;
  /** `readConcern` of the first statement, which every participant's first statement carries. */
  readonly readConcern: Doc | undefined;
}

/** Which shards take part in the open transaction of each session. */
export class RouterTransactions {
  readonly #open = new Map<string, OpenTransaction>();

  /** The command as a shard must see it: the first one in a transaction on that shard starts the transaction there. */
  joined(shard: string, body: Doc): Doc {
    const session = sessionKey(body);
    if (session === undefined || body.get('autocommit') !== false) return body;
    const txnNumber = numberOf(body.get('txnNumber')) ?? -1;
    let open = this.#open.get(session);
    if (open?.txnNumber !== txnNumber) {
      if (this.#open.size >= transactionsMax) this.#open.clear();
      open = { txnNumber, participants: new Set(), readConcern: docOf(body.get('readConcern')) };
      this.#open.set(session, open);
    }
    if (open.participants.has(shard)) {
      body.delete('startTransaction');
      body.delete('readConcern');
    } else {
      open.participants.add(shard);
      body.set('startTransaction', true);
      if (open.readConcern !== undefined) body.set('readConcern', open.readConcern);
    }
    return body;
  }

  /** The shards that take part, in the order in which they commit: by id, as recorded in 04-events-documents and 11-transactions. */
  participants(body: Doc): string[] {
    const session = sessionKey(body);
    const open = session === undefined ? undefined : this.#open.get(session);
    return [...(open?.participants ?? [])].sort();
  }

  /** Forgets the transaction of a session. */
  end(body: Doc): void {
    const session = sessionKey(body);
    if (session !== undefined) this.#open.delete(session);
  }
}

function sessionKey(body: Doc): string | undefined {
  const id = docOf(body.get('lsid'))?.get('id');
  return id instanceof Binary ? id.toString('hex') : undefined;
}
