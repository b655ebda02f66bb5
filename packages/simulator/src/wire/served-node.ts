import type { Doc } from '../bson/value.js';
import type { CommandNode, CommandRequest } from '../node/command.js';

/**
 * The outcome of a command, as far as the fields around the answer depend on it. `unread`: it failed while it was
 * parsed; `refusedReadConcern`: it was parsed, but does not support its read concern.
 */
export type CommandOutcome = 'success' | 'failed' | 'unread' | 'refusedReadConcern';

/** A node that can be put behind a port. */
export interface ServedNode extends CommandNode {
  /**
   * Adds the fields of every answer of this kind of node, for example `$clusterTime` and `operationTime`, in the
   * server's order.
   */
  addReplyFields(reply: Doc, request: CommandRequest, outcome: CommandOutcome): void;
}
