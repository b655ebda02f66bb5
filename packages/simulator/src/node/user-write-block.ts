import { isTrue } from './doc-fields.js';
import type { Doc, Value } from '../bson/value.js';
import { CommandError, type CommandRequest, type ConnectionState } from './command.js';
import type { ServerVersion } from './server-version.js';

/** Databases that user write blocking exempts. */
const internalDatabases: ReadonlySet<string> = new Set(['admin', 'config', 'local']);

/** Collections in user databases that the server itself writes. */
const internalCollection = /^system\.(profile$|resharding\.)/;

/** The reason of a block (8.0.13), in the order of the numbers in `serverStatus`. */
const reasons = ['Unspecified', 'ClusterToClusterMigrationInProgress', 'DiskUseThresholdExceeded'] as const;
type Reason = (typeof reasons)[number];

export function isInternalDatabase(db: string): boolean {
  return internalDatabases.has(db);
}

/** A member whose users' writes are blocked. */
export interface BlockedMember {
  /**
   * Aborts the index builds of users' databases, and takes the lock of the whole node once no transaction is open.
   * @returns releases it
   */
  beginBlock(signal: AbortSignal): Promise<() => void>;
}

/**
 * The switch of `setUserWriteBlockMode` (6.0). While it is on, only servers and users with the privilege
 * `bypassWriteBlockingMode` change user databases. Without access control nobody has that privilege.
 */
export class UserWriteBlock {
  enabled = false;
  members: BlockedMember[] = [];
  /** Stores a replica set's block, or its end, where its members find it. */
  keep: (note: Doc | undefined) => Promise<void> = () => Promise.resolve();
  #reason: Reason = 'Unspecified';
  #exempt = true;

  /** @param features the release whose features the nodes have */
  constructor(private readonly features: () => ServerVersion) {}

  /** Number of the reason in `serverStatus` of 8.0.13. Undefined before 8.0; 0 without a reason, as in 8.0.10. */
  get reasonNumber(): number | undefined {
    return this.features().atLeast(8, 0) ? reasons.indexOf(this.#reason) : undefined;
  }

  /**
   * The document of a block in `config.user_writes_critical_sections`: of a replica set, or the config server's of its
   * shards' block. Undefined without a block.
   * @param ofShards whether it also refuses DDL changes that a cluster coordinates
   */
  note(ofShards: boolean): Doc | undefined {
    if (!this.enabled) return undefined;
    const note = new Map<string, Value>([
      ['_id', ''],
      ['blockNewUserShardedDDL', ofShards],
      ['blockUserWrites', true],
    ]);
    return this.#reason === 'Unspecified' ? note : note.set('blockUserWritesReason', this.#reason);
  }

  /** Runs the synchronous part of a command as its client. Outside of it the node itself acts. */
  actAs<T>(client: ConnectionState, work: () => T): T {
    if (!this.enabled) return work();
    const before = this.#exempt;
    this.#exempt = client.bypassesWriteBlocking === true;
    try {
      return work();
    } finally {
      this.#exempt = before;
    }
  }

  /** Refuses a DDL change of a sharded cluster before it starts. @throws CommandError 371 */
  refuseClient(client: ConnectionState, db: string): void {
    this.actAs(client, () => this.refuse(db));
  }

  /**
   * `setUserWriteBlockMode`. A block waits for open transactions and aborts index builds on every member, even if it is
   * set already.
   * @param comparesReasons as replica sets do, and clusters do not
   * @throws CommandError 40414 without `global`, 2 for an unknown reason, 20 when another reason holds the block
   */
  async set({ name, body, signal }: CommandRequest, comparesReasons: boolean): Promise<void> {
    const global = body.get('global');
    if (global === undefined)
      throw new CommandError(40414, 'Location40414', `BSON field '${name}.global' is missing but a required field`);
    const blocked = isTrue(global);
    const given = body.get('reason') ?? 'Unspecified';
    const reason = reasons.find((each) => each === given);
    if (reason === undefined) {
      throw new CommandError(
        2,
        'BadValue',
        `Enumeration value '${typeof given === 'string' ? given : ''}' for field '${name}.reason' is not a ` +
          'valid value.',
      );
    }
    const locked = blocked ? await this.#lockMembers(signal) : [];
    try {
      if (this.enabled && comparesReasons && reason !== this.#reason) throw otherReason(blocked, reason, this.#reason);
      this.#reason = blocked ? reason : 'Unspecified';
      this.enabled = blocked;
    } finally {
      for (const release of locked) release();
    }
  }

  /** All or none: when one member cannot be locked, the others are released. */
  async #lockMembers(signal: AbortSignal): Promise<(() => void)[]> {
    const asked = await Promise.allSettled(this.members.map((member) => member.beginBlock(signal)));
    const locked = asked.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
    const failed = asked.find((each) => each.status === 'rejected');
    if (failed === undefined) return locked;
    for (const release of locked) release();
    throw failed.reason;
  }

  /** @throws CommandError 371 when the acting client may not change this database's collection */
  refuse(db: string, collection = ''): void {
    if (!this.enabled || this.#exempt || isInternalDatabase(db) || internalCollection.test(collection)) return;
    const reason = this.#reason === 'Unspecified' ? '' : `, reason: ${this.#reason}`;
    throw new CommandError(371, 'UserWritesBlocked', `User writes blocked${reason}`);
  }
}

function otherReason(blocked: boolean, reason: Reason, current: Reason): CommandError {
  const how = blocked
    ? 'Cannot acquire user writes critical section with different options than the already existing one.'
    : 'Cannot release user writes critical section with different reason than the already existing one.';
  return new CommandError(20, 'IllegalOperation', `${how} reason: ${reason}, current: ${current}`);
}
