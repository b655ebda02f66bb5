import type { Doc } from '../bson/value.js';
import type { CommandNode, CommandRequest } from '../node/command.js';

/** Why a command failed, as far as the fields around the answer depend on it. */
export type CommandOutcome = 'success' | 'failed' | 'unknownCommand';

/** A node that can be put behind a port. */
export interface ServedNode extends CommandNode {
  /** True when a getMore may go on by itself until its cursor ends. */
  readonly streamsCursors?: boolean;
  /** Adds what this kind of node says with every answer, for example `$clusterTime` and `operationTime`, in the server's order. */
  addReplyFields(reply: Doc, request: CommandRequest, outcome: CommandOutcome): void;
}
