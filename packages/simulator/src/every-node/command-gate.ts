import type { Doc, Value } from '../bson/value.js';
import { LabelledFailure } from '../faults/fail-command.js';
import type { FailPoints } from '../faults/fail-points.js';
import { hasReadLimit, takesWriteConcern } from '../node/cluster-defaults.js';
import { CommandError, type CommandRequest } from '../node/command.js';
import { numberOf } from '../node/doc-fields.js';
import { concernErrorCode, concernErrorLabels, errorLabels, type LabellingNode } from '../node/error-labels.js';
import { timeExpired } from '../shard/command-limits.js';
import { writeConcernError } from '../shard/write/write-concern.js';
import type { NodeIdentity } from './node-identity.js';

/**
 * Codes of a member that is not primary. One that shuts down tells its topology's version only in quiesce mode, which
 * no node here has (server source: appendErrorLabelsAndTopologyVersion).
 */
const roleCodes: ReadonlySet<number> = new Set([189, 10058, 10107, 11602, 13435, 13436]);

/**
 * Every command of a client passes here: the node's condition and fail points on the way in, error labels on the way
 * out.
 */
export class CommandGate {
  readonly #node: LabellingNode;

  constructor(
    private readonly identity: NodeIdentity,
    readonly failPoints: FailPoints,
  ) {
    this.#node = identity.kind === 'router' ? 'router' : 'member';
  }

  /** @param run the command itself */
  async run(request: CommandRequest, run: () => Promise<Doc>): Promise<Doc> {
    const { condition } = this.identity;
    if (condition.delayMs > 0 || condition.paused) await condition.hold(request.signal);
    this.#complete(request);
    const startedMs = Date.now();
    try {
      const reply = await this.failPoints.failCommand.apply(request, run);
      refuseLate(request, Date.now() - startedMs);
      addConcernError(request, reply);
      const labels = reply.has('errorLabels') ? [] : concernErrorLabels(this.#node, request, reply);
      if (labels.length > 0) reply.set('errorLabels', [...labels]);
      if (reply.has('writeConcernError') && this.#reportsTopology(concernErrorCode(reply)))
        reply.set('topologyVersion', this.identity.topologyVersion);
      return reply;
    } catch (error) {
      throw error instanceof CommandError ? this.#labelled(request, error) : error;
    } finally {
      if (condition.paused) await condition.awake(request.signal);
    }
  }

  /** Shards take no default concerns: their clients are routers, which have added them. */
  #complete(request: CommandRequest): void {
    const { kind, deployment } = this.identity;
    deployment.defaults.complete(request, kind === 'router' || kind === 'replicaSet');
  }

  #labelled(request: CommandRequest, error: CommandError): CommandError {
    const labels = error instanceof LabelledFailure ? error.labels : errorLabels(this.#node, request, error);
    const topology = this.#reportsTopology(error.code);
    if (labels.length === error.labels.length && !topology) return error;
    const extra = topology
      ? new Map([...error.extra, ['topologyVersion', this.identity.topologyVersion]] as [string, Value][])
      : error.extra;
    return new CommandError(error.code, error.codeName, error.message, labels, extra);
  }

  /**
   * The topology's version shows a client whether a failure of the member's role is news (server source:
   * appendErrorLabelsAndTopologyVersion).
   */
  #reportsTopology(code: number | undefined): boolean {
    return this.#node === 'member' && code !== undefined && roleCodes.has(code);
  }
}

/** A read that took longer than it may has no result. @throws CommandError 50 */
function refuseLate(request: CommandRequest, tookMs: number): void {
  const limitMs = numberOf(request.body.get('maxTimeMS')) ?? 0;
  if (limitMs > 0 && tookMs > limitMs && hasReadLimit(request)) throw timeExpired();
}

/** Definitions and notes report an unsatisfied write concern as writes do. */
function addConcernError(request: CommandRequest, reply: Doc): void {
  if (!takesWriteConcern(request) || reply.has('writeConcernError')) return;
  const error = writeConcernError(request.body);
  if (error !== undefined) reply.set('writeConcernError', error);
}
