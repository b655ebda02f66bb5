import type { InstanceProcess } from '@convoy/cli/environment/fleet/instance-process';
import type { CommandGate } from '../gate/command-gate.js';

/** One instance with its own way to the destination. */
export interface Member {
  readonly process: InstanceProcess;
  readonly id: string;
  readonly gate: CommandGate;
}
