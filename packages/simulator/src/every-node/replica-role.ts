import { Long, ObjectId } from 'bson';
import type { NodeCondition } from '../node/node-condition.js';

/** Hex digits that stand before the term in an election id (server source: OpTime terms as election ids). */
const electionPrefix = '7fffffff';
const termDigits = 16;

/** The role of a set's only member: primary, or secondary for a time after a step-down. */
export class ReplicaRole {
  #primary = true;
  #term = 1;
  #counter: number;

  /**
   * @param condition wakes the waiters for a change of the node
   * @param setUpChanges changes of the topology until the member is primary and set up
   */
  constructor(
    private readonly condition: NodeCondition,
    private readonly setUpChanges: number,
  ) {
    this.#counter = setUpChanges;
  }

  get primary(): boolean {
    return this.#primary;
  }

  /** The number of elections of the set. */
  get term(): Long {
    return Long.fromInt(this.#term);
  }

  get electionId(): ObjectId {
    return ObjectId.createFromHexString(electionPrefix + this.#term.toString(16).padStart(termDigits, '0'));
  }

  /** `topologyVersion.counter`. */
  get counter(): Long {
    return Long.fromInt(this.#counter);
  }

  stepDown(): void {
    this.#primary = false;
    this.#counter += 1;
    this.condition.notify();
  }

  /** The only member always wins its election. */
  elect(): void {
    this.#primary = true;
    this.#term += 1;
    this.#counter += 1;
    this.condition.notify();
  }

  /** A new process counts from the start, and is elected in a new term. */
  restart(): void {
    this.#counter = this.setUpChanges;
    this.#primary = true;
    this.#term += 1;
    this.condition.notify();
  }
}
