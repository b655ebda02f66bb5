import type { Doc } from '../bson/value.js';
import type { CommandRequest } from '../node/command.js';
import { unsimulated } from '../node/unsimulated.js';

/** Commands that routers of some releases have and that are not simulated. They are refused by name, never ignored. */
export const unsimulatedCommands: readonly string[] = [
  'abortMoveCollection',
  'abortReshardCollection',
  'abortUnshardCollection',
  'analyzeShardKey',
  'connPoolStats',
  'fsync',
  'getDefaultRWConcern',
  'killOp',
  'logRotate',
];

/** @throws CommandError 115 */
export function refuseUnsimulated(_context: unknown, { name }: CommandRequest): Doc {
  throw unsimulated(name);
}
