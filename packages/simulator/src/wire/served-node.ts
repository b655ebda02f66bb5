import type { Doc } from '../bson/value.js';
import type { CommandNode, CommandRequest } from '../node/command.js';

/**
 * What came of a command, as far as the fields around the answer depend on it. `unread`: it failed while it was read, before it was begun;
 * `refusedReadConcern`: it was read, but does not go with its read concern.
 */
export type CommandOutcome = 'success' | 'failed' | 'unread' | 'refusedReadConcern';

/** A node that can be put behind a port. */
export interface ServedNode extends CommandNode {
  /** False for commands that the node refuses when they come as OP_QUERY. */
  takesLegacy?(command: string): boolean;
  /** True when a getMore may go on by itself until its cursor ends. */
  readonly streamsCursors?: boolean;
  /** Adds what this kind of node says with every answer, for example `$clusterTime` and `operationTime`, in the server's order. */
  addReplyFields(reply: Doc, request: CommandRequest, outcome: CommandOutcome): void;
}
