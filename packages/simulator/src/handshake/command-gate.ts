import type { Doc } from '../bson/value.js';
import { LabelledFailure } from '../wire/fail-command.js';
import type { FailPoints } from '../wire/fail-points.js';
import { CommandError, type CommandRequest } from '../node/command.js';
import { numberOf } from '../node/doc-fields.js';
import { concernErrorLabels, errorLabels, type LabellingNode } from '../node/error-labels.js';
import type { NodeCondition } from '../node/node-condition.js';

/** What every command of a client passes: the node's condition and fail points on the way in, labels of failures on the way out. */
export class CommandGate {
  constructor(
    private readonly node: LabellingNode,
    readonly condition: NodeCondition,
    readonly failPoints: FailPoints,
  ) {}

  /** @param run the command itself */
  async run(request: CommandRequest, run: () => Promise<Doc>): Promise<Doc> {
    const { condition } = this;
    if (condition.delayMs > 0 || condition.paused) await condition.hold(request.signal);
    try {
      this.#refuseTimeLimit(request);
      const reply = await this.failPoints.failCommand.apply(request, run);
      const labels = reply.has('errorLabels') ? [] : concernErrorLabels(this.node, request, reply);
      if (labels.length > 0) reply.set('errorLabels', [...labels]);
      return reply;
    } catch (error) {
      throw error instanceof CommandError ? this.#labelled(request, error) : error;
    } finally {
      if (condition.paused) await condition.awake(request.signal);
    }
  }

  /** Only a command with a time limit enters the point. */
  #refuseTimeLimit({ body }: CommandRequest): void {
    if ((numberOf(body.get('maxTimeMS')) ?? 0) <= 0) return;
    if (this.failPoints.get('maxTimeAlwaysTimeOut')?.enter() === undefined) return;
    throw new CommandError(50, 'MaxTimeMSExpired', 'operation exceeded time limit');
  }

  #labelled(request: CommandRequest, error: CommandError): CommandError {
    if (error instanceof LabelledFailure) return error;
    const labels = errorLabels(this.node, request, error);
    if (labels.length === error.labels.length) return error;
    return new CommandError(error.code, error.codeName, error.message, labels, error.extra);
  }
}
