import type { Timestamp } from 'bson';
import type { Doc } from '../../src/bson/value.js';
import type { Step } from './corpus-file.js';
import type { HostRoles } from './host-roles.js';

/** The running nodes that some files of the corpus are played against. */
export interface Stage {
  /** Addresses of the stage's own nodes by their parts. */
  readonly roles: HostRoles;
  /** The newest cluster time the stage knows. */
  clusterTime(): Timestamp;
  /**
   * Sends a command of a step to the node that the step names, as the user it names; gives the reply, failed or not.
   */
  send(step: Step, command: Doc): Promise<Doc>;
  /** Runs a step that is described in words instead of a command, and returns its outcome. */
  act(step: Step): Promise<Doc>;
  /** Does what stands behind a note: commands that were sent but not recorded one by one. */
  actAtNote(file: string, line: number): Promise<void>;
  close(): Promise<void>;
}
