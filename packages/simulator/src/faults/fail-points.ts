import type { Doc } from '../bson/value.js';
import { CommandError, type CommandRequest } from '../node/command.js';
import { doc, numberOf, requiredText } from '../node/doc-fields.js';
import { FailCommand } from './fail-command.js';
import { FailPoint } from './fail-point.js';

/** Fail points of this cluster's nodes besides `failCommand`, by the server's names. */
const otherPoints = {
  /** Keeps the orphans of chunk migrations where they are. */
  suspendRangeDeletion: ['shard'],
  /** Moves of chunks from this shard hang before the recipient has anything. */
  moveChunkHangAtStep4: ['shard'],
  /** Commits of transactions hang, those of prepared ones on one participant too. */
  hangBeforeCommitingTxn: ['shard', 'config', 'replicaSet'],
  /** Index builds hang before they read a document. */
  hangAfterInitializingIndexBuild: ['shard', 'replicaSet'],
  /** A database hangs before its collections move to another primary shard. */
  hangBeforeCloningData: ['shard'],
  /** Collections that move or are resharded hang before they change. */
  reshardingPauseCoordinatorBeforeBlockingWrites: ['config'],
} as const;

/** Longest wait of a `waitForFailPoint` without `maxTimeMS`. */
const waitMsMax = 3_600_000;

/** The fail points of one node. A restart of its process turns all of them off: `clear`. */
export class FailPoints {
  readonly failCommand = new FailCommand();
  readonly #points: ReadonlyMap<string, FailPoint>;

  constructor(kind: 'router' | 'shard' | 'config' | 'replicaSet') {
    const names = Object.entries(otherPoints).filter(([, kinds]) => (kinds as readonly string[]).includes(kind));
    this.#points = new Map([
      ['failCommand', this.failCommand.point],
      ...names.map(([name]) => [name, new FailPoint()] as const),
    ]);
  }

  /** True while a point of this name is set. */
  active(name: string): boolean {
    return this.#points.get(name)?.active === true;
  }

  get(name: string): FailPoint | undefined {
    return this.#points.get(name);
  }

  /** Turns all points off, as the end of a process does. */
  clear(): void {
    for (const point of this.#points.values()) point.configure(doc(['mode', 'off']));
  }

  /**
   * Answers `configureFailPoint` and `waitForFailPoint`. Undefined for all other commands.
   * @throws CommandError 13 outside of the database admin; 266 for an unknown point
   */
  answer(request: CommandRequest): Doc | Promise<Doc> | undefined {
    const { name, body } = request;
    if (name !== 'configureFailPoint' && name !== 'waitForFailPoint') return undefined;
    if (request.db !== 'admin')
      throw new CommandError(13, 'Unauthorized', `${name} may only be run against the admin database.`);
    const wanted = requiredText(body, name);
    const point = this.#points.get(wanted);
    if (point === undefined) throw new CommandError(266, 'FailPointSetFailed', `${wanted} not found`);
    if (name === 'configureFailPoint') return point.configure(body);
    const times = numberOf(body.get('timesEntered')) ?? 0;
    return point.entered(times, numberOf(body.get('maxTimeMS')) ?? waitMsMax).then(() => new Map());
  }
}
