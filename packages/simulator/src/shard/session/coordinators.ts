import { Long } from 'bson';
import type { Doc, Value } from '../../bson/value.js';
import { SessionIdentity } from './session-identity.js';

/** The transactions over several shards whose commit decision a shard carries out. */
export class Coordinators {
  readonly #deciding = new Map<string, Doc>();

  /**
   * Records a decided transaction.
   * @param transaction a command of it, with `lsid` and `txnNumber`
   * @param participants 0 when all have committed
   */
  note(transaction: Doc, participants: number): void {
    const identity = SessionIdentity.read(transaction.get('lsid'));
    const txnNumber = transaction.get('txnNumber');
    if (identity === undefined || !(txnNumber instanceof Long)) return;
    const key = keyOf(identity, txnNumber.toBigInt());
    if (participants === 0) this.#deciding.delete(key);
    else this.#deciding.set(key, shown(identity, txnNumber, participants));
  }

  has(identity: SessionIdentity, txnNumber: bigint): boolean {
    return this.#deciding.has(keyOf(identity, txnNumber));
  }

  /** As `$currentOp` shows them (server source: `TransactionCoordinator::reportState`). */
  get shown(): Doc[] {
    return [...this.#deciding.values()];
  }
}

function keyOf(identity: SessionIdentity, txnNumber: bigint): string {
  return `${identity.key}/${txnNumber}`;
}

function shown(identity: SessionIdentity, txnNumber: Long, participants: number): Doc {
  const coordinator = new Map<string, Value>([
    ['lsid', identity.toDoc()],
    ['txnNumber', txnNumber],
    ['numParticipants', Long.fromNumber(participants)],
    ['state', 'waitingForDecisionAck'],
  ]);
  return new Map<string, Value>([
    ['desc', 'transaction coordinator'],
    ['twoPhaseCommitCoordinator', coordinator],
  ]);
}
